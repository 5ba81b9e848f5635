// SPDX-License-Identifier: Apache-2.0

package configcmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/config/talosconfig"
)

func renameCommand(f *file) *cobra.Command {
	return &cobra.Command{
		Use:               "rename <context> <new name>",
		Short:             "Give a context another name",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: f.contextNames,
		RunE: func(_ *cobra.Command, args []string) error {
			from, to := args[0], args[1]

			return f.edit(func(c *talosconfig.Config) error {
				context, err := c.Find(from)
				if err != nil {
					return err
				}

				switch {
				case to == "":
					return fmt.Errorf("the new name of context %q is empty", from)
				case c.Contexts[to] != nil:
					return fmt.Errorf("there is a context %q already: remove it first, or use another name", to)
				}

				delete(c.Contexts, from)
				c.Contexts[to] = context

				if c.Context == from {
					c.Context = to
				}

				return nil
			})
		},
	}
}
