// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/lab/state"
)

func newDestroyCommand(p *place) *cobra.Command {
	return &cobra.Command{
		Use:   "destroy",
		Short: "Switch a cluster's machines off and remove them with their disks",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := p.open()
			if errors.Is(err, state.ErrNone) { // there is nothing to destroy
				fmt.Fprintf(cmd.OutOrStdout(), "cluster %s: %v\n", p.name, err)

				return nil
			}

			if err != nil {
				return err
			}

			if err := l.Destroy(cmd.Context()); err != nil {
				return err
			}

			fmt.Fprintf(cmd.OutOrStdout(), "cluster %s destroyed\n", p.name)

			return nil
		},
	}
}
