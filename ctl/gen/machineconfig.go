// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/config/patch"
	"github.com/seed-59268b81/talos/ctl/session"
)

func machineConfigCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "machineconfig",
		Short:   "Generate and patch machine configurations",
		Aliases: []string{"mc"},
	}

	force := new(bool)
	generate := configCommand(force)
	generate.Flags().BoolVarP(force, "force", "f", false, "overwrite existing files")
	generate.Use = "gen <cluster name> <cluster endpoint>"
	generate.Example = ""

	cmd.AddCommand(generate, patchCommand())

	return cmd
}

func patchCommand() *cobra.Command {
	var (
		patches []string
		output  string
	)

	cmd := &cobra.Command{
		Use:   "patch <file>",
		Short: "Patch a machine configuration",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			loaded, err := patch.Load(patches)
			if err != nil {
				return fmt.Errorf("--patch: %w", err)
			}

			text, err := session.ReadConfig(cmd, args[0])
			if err != nil {
				return err
			}

			if text, err = patch.Apply(text, loaded...); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}

			return write(cmd.OutOrStdout(), cmp.Or(output, stdout), text, true)
		},
	}

	cmd.Flags().StringArrayVarP(&patches, "patch", "p", nil, "patch to apply (inline, or @file); may be repeated")
	cmd.Flags().StringVarP(&output, "output", "o", "", "file to write (default: the standard output)")

	return session.Require(cmd, "patch")
}
