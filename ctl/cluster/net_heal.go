// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/lab"
)

func newHealCommand(p *place) *cobra.Command {
	return &cobra.Command{
		Use:   "heal [NAME...]",
		Short: "Remove faults",
		Long: `Remove all faults, or those of the names. Links and paths are good again; routers and services are as they were when the cluster was
created. Unplugged cards stay unplugged.`,
		Example: `  talosctl cluster net heal
  talosctl cluster net heal worker-1 site-1-router`,
		ValidArgsFunction: completeNames(p),
		RunE: p.run(func(cmd *cobra.Command, l *lab.Lab, args []string) error {
			if len(args) == 0 {
				if err := l.Heal(cmd.Context()); err != nil {
					return err
				}

				fmt.Fprintln(cmd.OutOrStdout(), "all faults healed")
			}

			for _, arg := range args {
				name := fullName(l, arg)
				if err := l.HealOnly(cmd.Context(), name); err != nil {
					return err
				}

				fmt.Fprintf(cmd.OutOrStdout(), "%s healed\n", name)
			}

			return nil
		}),
	}
}
