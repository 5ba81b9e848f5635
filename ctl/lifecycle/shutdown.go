// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/ctl/session"
)

func newShutdownCommand(s *session.Session) *cobra.Command {
	var (
		tracking tracking
		force    bool
	)

	cmd := s.Flags(&cobra.Command{
		Use:   "shutdown",
		Short: "Power the nodes off",
		Long: `Power the nodes off, all at once. Before a node goes down its pods end: pods that can run elsewhere are evicted, the others get the
kubelet's shutdownGracePeriod, 30 seconds by default.

A node whose absence would cost etcd its quorum refuses to go, unless it is forced.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return tracking.each(s, cmd, func(n session.Node, ctx context.Context) (string, error) { return n.Shutdown(ctx, force) }, untilOff)
		},
	})

	tracking.flags(cmd, "wait until the nodes no longer answer, and show their events")
	cmd.Flags().BoolVar(&force, "force", false, "kill pods without a grace period, and go even if etcd loses its quorum")

	return cmd
}

// untilOff waits until the node does not answer.
func untilOff(ctx context.Context, n session.Node, _ boot, say func(string)) error {
	err := until(ctx, "for the node to go off", func() (bool, error) {
		_, err := bootOf(ctx, n)
		code := status.Code(err)

		return code == codes.Unavailable || code == codes.DeadlineExceeded, err
	})
	if err == nil {
		say("off")
	}

	return err
}
