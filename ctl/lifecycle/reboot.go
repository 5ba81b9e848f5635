// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/ctl/session"
)

// rebootModes are the values of --mode.
var rebootModes = []session.Named[machine.RebootRequest_Mode]{
	{Name: "default", Value: machine.RebootRequest_DEFAULT},
	{Name: "powercycle", Value: machine.RebootRequest_POWERCYCLE},
	{Name: "force", Value: machine.RebootRequest_FORCE},
}

func newRebootCommand(s *session.Session) *cobra.Command {
	var (
		tracking tracking
		draining draining
		mode     machine.RebootRequest_Mode
		force    bool
	)

	cmd := s.Flags(&cobra.Command{
		Use:   "reboot",
		Short: "Reboot the nodes",
		Long: `Reboot the nodes, all at once. Before a node goes down its pods end: pods that can run elsewhere are evicted, the others get the
kubelet's shutdownGracePeriod, 30 seconds by default.

A node whose absence would cost etcd its quorum refuses to go, unless it is forced.

With --drain, reboot the nodes one after the other: each is drained before it goes down, and the next one follows when Kubernetes reports
the node ready. When a node fails, the command leaves the following nodes alone. It reaches the Kubernetes API through your kubeconfig if
that has the cluster, otherwise at the cluster's endpoint.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if force {
				mode = machine.RebootRequest_FORCE
			}

			reboot := func(n session.Node, ctx context.Context) (string, error) { return n.Reboot(ctx, mode) }

			if draining.drain {
				return rebootInTurn(s, cmd, &tracking, &draining, reboot)
			}

			return tracking.each(s, cmd, reboot, untilBooted)
		},
	})

	tracking.flags(cmd, "wait until the nodes run again, and show their events")
	draining.flags(cmd, false)
	cmd.Flags().BoolVar(&force, "force", false, "the same as --mode force")
	session.EnumFlag(cmd, &mode, "mode", "m", "default", "default, powercycle (through the firmware) or force (pods are killed, and etcd may lose its quorum)", rebootModes)

	return cmd
}

// rebootInTurn drains and reboots one node after the other.
func rebootInTurn(s *session.Session, cmd *cobra.Command, t *tracking, d *draining, reboot beginner) error {
	t.wait, t.out = true, session.NewLines(cmd.ErrOrStderr())

	var failed string

	return s.InTurn(cmd, func(ctx context.Context, n session.Node) error {
		if failed != "" {
			return fmt.Errorf("not rebooted, since %s failed", failed)
		}

		// The call goes to the endpoint, a control plane node: the node itself may be a worker.
		kube, err := n.Kubernetes(cmd.Context(), "")
		if err == nil {
			defer kube.Close()

			err = d.follow(ctx, n, t, kube, reboot, untilBooted)
		}

		if err != nil {
			failed = n.Name
		}

		return err
	})
}

// untilBooted waits until the node has booted again, and runs or is in maintenance.
func untilBooted(ctx context.Context, n session.Node, before boot, say func(string)) error {
	if err := untilNewBoot(ctx, n, before, say); err != nil {
		return err
	}

	return until(ctx, "for the node to run", func() (bool, error) { return rests(ctx, n, say) })
}

// untilNewBoot waits until the node has booted again.
func untilNewBoot(ctx context.Context, n session.Node, before boot, say func(string)) error {
	err := until(ctx, "for the node to boot", func() (bool, error) {
		now, err := bootOf(ctx, n)

		return err == nil && now != before, err
	})
	if err != nil {
		return err
	}

	say("booted")

	return nil
}

// rests reports whether the node runs or is in maintenance, and says so.
func rests(ctx context.Context, n session.Node, say func(string)) (bool, error) {
	stage, err := stageOf(ctx, n)
	if stage != "running" && stage != "maintenance" {
		return false, err
	}

	say(stage)

	return true, err
}
