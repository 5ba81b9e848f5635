// SPDX-License-Identifier: Apache-2.0

// Package kubecmd is "talosctl kubeconfig".
package kubecmd

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
)

// Command returns talosctl kubeconfig.
func Command(s *session.Session) *cobra.Command {
	var (
		merge, force bool
		contextName  string
	)

	cmd := s.Flags(&cobra.Command{
		Use:   "kubeconfig [PATH]",
		Short: "Fetch a kubeconfig with admin rights from a control plane node",
		Long: `Fetch a kubeconfig with admin rights from a control plane node.

It is merged into PATH, by default the first file of $KUBECONFIG or ~/.kube/config. If another cluster has the same names there, the
command asks on a terminal what to do, and otherwise renames the new ones.

With --merge=false it is written to PATH, by default ./kubeconfig. PATH - is standard output; in a directory, the file is kubeconfig.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var path string

			if len(args) == 1 {
				path = args[0]
			}

			if contextName != "" && !merge {
				return session.UsageError(cmd, "--force-context-name does not go with --merge=false: it names the merged context")
			}

			return s.One(cmd, func(ctx context.Context, n session.Node) error {
				content, err := n.Kubeconfig(ctx)
				if err != nil {
					return err
				}

				switch {
				case path == "-":
					_, err := cmd.OutOrStdout().Write(content)

					return err
				case merge:
					return mergeKubeconfig(cmd, path, content, kubeconfig.Options{
						ContextName: contextName, Overwrite: overwriteNames(cmd, force),
					})
				default:
					return writeKubeconfig(path, content, force)
				}
			})
		},
	})

	cmd.Flags().BoolVarP(&merge, "merge", "m", true, "merge with what is in the file")
	cmd.Flags().BoolVarP(&force, "force", "f", false, "overwrite the file, or the names in it")
	cmd.Flags().StringVar(&contextName, "force-context-name", "", "name of the context")

	return cmd
}

func writeKubeconfig(path string, content []byte, force bool) error {
	path = intoDirectory(cmp.Or(path, "."))

	if _, err := os.Stat(path); err == nil && !force {
		return fmt.Errorf("write kubeconfig: %s exists; --force overwrites it", path)
	}

	return kubeconfig.WriteContent(path, content)
}

// intoDirectory returns the path of the file kubeconfig in path if that is a directory, or else path.
func intoDirectory(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return filepath.Join(path, "kubeconfig")
	}

	return path
}

func mergeKubeconfig(cmd *cobra.Command, path string, content []byte, options kubeconfig.Options) error {
	if path == "" {
		var err error

		if path, err = kubeconfig.UserPath(); err != nil {
			return fmt.Errorf("%w; name a PATH", err)
		}
	}

	path = intoDirectory(path)

	fetched, err := kubeconfig.ParseFile(content)
	if err != nil {
		return err
	}

	return session.MergeKubeconfig(path, fetched, options, func(r kubeconfig.Rename) {
		fmt.Fprintf(cmd.ErrOrStderr(), "renamed %s %q -> %q\n", r.Section, r.From, r.To)
	})
}

// overwriteNames returns the decision to overwrite an existing name: yes with --force, the user's answer on a terminal, and no otherwise.
func overwriteNames(cmd *cobra.Command, force bool) func(kubeconfig.Section, string) (bool, error) {
	if force {
		return func(kubeconfig.Section, string) (bool, error) { return true, nil }
	}

	if !session.IsTerminal(cmd.InOrStdin()) {
		return nil
	}

	return askOverwrite(bufio.NewReader(cmd.InOrStdin()), cmd.ErrOrStderr())
}

func askOverwrite(in *bufio.Reader, out io.Writer) func(kubeconfig.Section, string) (bool, error) {
	return func(section kubeconfig.Section, name string) (bool, error) {
		for {
			fmt.Fprintf(out, "%s %q already exists. [r]ename or [o]verwrite? ", section, name)

			answer, err := in.ReadString('\n')
			if err != nil {
				return false, fmt.Errorf("read the answer about %s %q: %w", section, name, err)
			}

			switch strings.TrimSpace(strings.ToLower(answer)) {
			case "r", "rename":
				return false, nil
			case "o", "overwrite":
				return true, nil
			}
		}
	}
}
