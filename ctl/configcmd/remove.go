// SPDX-License-Identifier: Apache-2.0

package configcmd

import (
	"bufio"
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/config/talosconfig"
)

func removeCommand(f *file) *cobra.Command {
	var yes, dryRun bool

	cmd := &cobra.Command{
		Use:               "remove <context>",
		Short:             "Remove contexts; the name may be a pattern such as lab-*",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: f.contextNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, file, err := f.load()
			if err != nil {
				return err
			}

			names, err := matching(c, args[0])
			if err != nil {
				return err
			}

			for _, name := range names {
				if dryRun {
					fmt.Fprintf(cmd.ErrOrStderr(), "would remove context %q\n", name)

					continue
				}

				if yes || confirmed(cmd, fmt.Sprintf("remove context %q?", name)) {
					remove(c, name)
				}
			}

			if dryRun {
				return nil
			}

			return c.Save(file)
		},
	}

	cmd.Flags().BoolVarP(&yes, "noconfirm", "y", false, "do not ask")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only print what would be removed")

	return cmd
}

func matching(c *talosconfig.Config, pattern string) ([]string, error) {
	var names []string

	for _, name := range c.Names() {
		match, err := path.Match(pattern, name)
		if err != nil {
			return nil, fmt.Errorf("%q is not a pattern: %w", pattern, err)
		}

		if match {
			names = append(names, name)
		}
	}

	if len(names) == 0 {
		return nil, fmt.Errorf("no context matches %q: there are %s", pattern, strings.Join(c.Names(), ", "))
	}

	return names, nil
}

func confirmed(cmd *cobra.Command, question string) bool {
	fmt.Fprintf(cmd.ErrOrStderr(), "%s (y/N): ", question)

	answer, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	answer = strings.ToLower(strings.TrimSpace(answer))

	return err == nil && (answer == "y" || answer == "yes")
}

// remove removes a context. If it was the current one, the first of the others becomes the current one.
func remove(c *talosconfig.Config, name string) {
	delete(c.Contexts, name)

	if c.Context != name {
		return
	}

	c.Context = append(c.Names(), "")[0]
}
