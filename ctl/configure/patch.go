// SPDX-License-Identifier: Apache-2.0

package configure

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/config/patch"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newPatchCommand(s *session.Session) *cobra.Command {
	var (
		applying applying
		patches  []string
		files    []string
	)

	cmd := s.Flags(&cobra.Command{
		Use:     "patch machineconfig [ID]",
		Short:   "Patch the machine configuration of the nodes",
		Example: `  talosctl patch mc -n 172.20.0.2 -p '{"machine": {"network": {"hostname": "one"}}}'`,
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := machineConfigArgs(cmd, args)
			if err != nil {
				return err
			}

			for _, file := range files {
				patches = append(patches, "@"+file)
			}

			if len(patches) == 0 {
				return session.UsageError(cmd, "no patch: set one with --patch")
			}

			changes, err := patch.Load(patches)
			if err != nil {
				return err
			}

			return s.Each(cmd, func(ctx context.Context, n session.Node) error {
				from, err := readMachineConfig(ctx, n, id)
				if err != nil {
					return err
				}

				changed, err := patch.Apply([]byte(from.text), changes...)
				if err != nil {
					return err
				}

				if string(changed) == from.text {
					_, err := fmt.Fprintf(cmd.ErrOrStderr(), "%s: the patch changes nothing, nothing was sent\n", n.Name)

					return err
				}

				return applying.send(ctx, n, cmd.ErrOrStderr(), changed, from)
			})
		},
		ValidArgsFunction: completeMachineConfig,
	})

	applying.flags(cmd)
	cmd.Flags().StringArrayVarP(&patches, "patch", "p", nil, "patch to apply (inline, or @FILE); may be repeated")
	cmd.Flags().StringArrayVar(&files, "patch-file", nil, "file with a patch; may be repeated")

	return cmd
}
