// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

// Command returns talosctl dashboard.
func Command(s *session.Session) *cobra.Command {
	var interval time.Duration

	cmd := s.MaintenanceFlags(&cobra.Command{
		Use:   "dashboard",
		Short: "Watch the nodes on the terminal: overview, logs, resources, network",
		Long:  "Watch the nodes on the terminal: overview, logs, resources, network. Unless nodes are named, it shows all members of the cluster.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if interval < time.Second {
				return session.UsageError(cmd, "--update-interval %s: want at least 1s", interval)
			}

			if !session.IsTerminal(os.Stdin) || !session.IsTerminal(os.Stdout) {
				return errors.New("the dashboard needs a terminal; for scripts use get, services, memory and logs")
			}

			nodes, closeAll, err := s.TargetsOrCluster()
			if err != nil {
				return err
			}

			defer closeAll()

			return run(cmd.Context(), os.Stdin, os.Stdout, nodes, interval)
		},
	})

	cmd.Flags().DurationVarP(&interval, "update-interval", "d", 3*time.Second, "time between updates of CPU, memory, processes and services")

	return cmd
}
