// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newBootstrapCommand(s *session.Session) *cobra.Command {
	var (
		request  machine.BootstrapRequest
		snapshot string
	)

	cmd := s.Flags(&cobra.Command{
		Use:   "bootstrap",
		Short: "Start a new cluster on one control plane node",
		Long: `Start etcd on one control plane node as the first member of a new cluster.

Do this once in the life of a cluster, on one node; the other control plane nodes join by themselves.

A cluster that has lost its etcd is restored from a snapshot with --recover-from. Wipe etcd on all control plane nodes before.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if request.RecoverSkipHashCheck && snapshot == "" {
				return session.UsageError(cmd, "--recover-skip-hash-check goes with --recover-from only")
			}

			return s.One(cmd, func(ctx context.Context, n session.Node) error {
				if snapshot != "" {
					if err := sendSnapshot(ctx, n, snapshot); err != nil {
						return err
					}

					request.RecoverEtcd = true
				}

				return n.Bootstrap(ctx, &request)
			})
		},
	})

	cmd.Flags().StringVar(&snapshot, "recover-from", "", "restore this snapshot, saved by talosctl etcd snapshot")
	cmd.Flags().BoolVar(&request.RecoverSkipHashCheck, "recover-skip-hash-check", false, "with --recover-from: accept a snapshot without a checksum, such as a copy of etcd's file")

	return cmd
}

func sendSnapshot(ctx context.Context, n session.Node, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read etcd snapshot: %w", err)
	}

	defer file.Close()

	return n.EtcdRecover(ctx, file)
}
