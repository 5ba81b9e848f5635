// SPDX-License-Identifier: Apache-2.0

package configcmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/config/talosconfig"
)

func mergeCommand(f *file) *cobra.Command {
	return &cobra.Command{
		Use:   "merge <file>",
		Short: "Merge the contexts of another client configuration into this one",
		Long: `Merge the contexts of another client configuration into this one.

A context whose name is taken gets a number; the other file's current context becomes the current one.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			other, err := talosconfig.Load(args[0])
			if err != nil {
				return err
			}

			return f.edit(func(c *talosconfig.Config) error {
				for _, rename := range c.Merge(other) {
					fmt.Fprintln(cmd.ErrOrStderr(), rename)
				}

				return nil
			})
		},
	}
}
