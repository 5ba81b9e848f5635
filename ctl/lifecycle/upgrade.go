// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/session"
	"github.com/seed-59268b81/talos/kube"
)

func newUpgradeCommand(s *session.Session) *cobra.Command {
	var upgrade upgrade

	cmd := s.LongMaintenanceFlags(&cobra.Command{
		Use:   "upgrade",
		Short: "Upgrade the nodes to another version",
		Long: `Have the nodes pull an installer image, install its version beside the present one, and reboot into it. An image that was imported
(talosctl image import) is used if it cannot be pulled.

The new version is tried: a node on which it is not healthy in time goes back to the version before by itself, also after a panic, a hang or
a power cut. The command then fails, and shows the reason.

With --drain, the default, the nodes are upgraded one after the other: each is drained before it goes down, and the next one follows when
Kubernetes reports the node ready and the version stays. When a node fails, the command leaves the following nodes alone. A node of which
Kubernetes cannot be reached is upgraded without, unless --drain is given.

A node whose absence would cost etcd its quorum refuses to go, unless it is forced.

A node that has lost its configuration reads the image from its registry. It has lost its own certificate, too: use --insecure, and your client
configuration. A node that never had a configuration is not upgraded: it has no administrators.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if upgrade.trial != 0 {
				cmd.SetContext(client.WithTrialTime(cmd.Context(), upgrade.trial))
			}

			upgrade.tracking.out = session.NewLines(cmd.ErrOrStderr())
			upgrade.mustDrain = cmd.Flags().Changed("drain")

			if !upgrade.draining.drain || upgrade.stay || !upgrade.tracking.wait && !upgrade.mustDrain {
				upgrade.draining.drain = false

				return s.Each(cmd, upgrade.node)
			}

			upgrade.tracking.wait = true

			return upgrade.inTurn(s, cmd)
		},
	})

	upgrade.tracking.flags(cmd, "wait until the nodes run again and have kept the version, and show their events")
	upgrade.draining.flags(cmd, true)
	session.ImageStoreFlag(cmd, &upgrade.store, "system")
	cmd.Flags().StringVarP(&upgrade.image, "image", "i", "", "installer image")
	session.EnumFlag(cmd, &upgrade.reboot, "reboot-mode", "m", "default", "default or powercycle (through the firmware)", rebootModes[:2])
	cmd.Flags().BoolVar(&upgrade.stay, "no-reboot", false, "do not reboot: the next reboot is into the new version")
	cmd.Flags().BoolVar(&upgrade.legacy, "legacy", false, "use the call of nodes without a lifecycle service; by default the command falls back to it")
	cmd.Flags().BoolVarP(&upgrade.force, "force", "f", false, "kill pods without a grace period, and go even if etcd loses its quorum")

	cmd.Flags().DurationVar(&upgrade.trial, "trial-timeout", 0, "when a node goes back to the version before if it is not as healthy as before (default 2m30s, or twice the time of its last start)")

	return session.Require(cmd, "image")
}

type upgrade struct {
	tracking  tracking
	draining  draining
	mustDrain bool
	store     *common.ContainerdInstance
	image     string
	trial     time.Duration
	reboot    machine.RebootRequest_Mode
	// force is only in the call of nodes without a lifecycle service.
	stay, legacy, force bool
}

// inTurn upgrades one node after the other.
func (u *upgrade) inTurn(s *session.Session, cmd *cobra.Command) error {
	var failed string

	return s.InTurn(cmd, func(ctx context.Context, n session.Node) error {
		if failed != "" {
			return fmt.Errorf("not upgraded, since %s failed", failed)
		}

		err := u.node(ctx, n)
		if err != nil {
			failed = n.Name
		}

		return err
	})
}

func (u *upgrade) node(ctx context.Context, n session.Node) error {
	if u.legacy || u.force {
		return u.oneCall(ctx, n)
	}

	err := u.install(ctx, n)

	switch {
	case status.Code(err) == codes.Unimplemented:
		return u.oneCall(ctx, n)
	case err != nil:
		return err
	case u.stay:
		u.say(n, "the next reboot is into the new version")

		return nil
	}

	return u.intoVersion(ctx, n)
}

// intoVersion restarts the node into the version that was installed. A node that stays up does not try it at a later boot, which would
// surprise.
func (u *upgrade) intoVersion(ctx context.Context, n session.Node) error {
	restarts := false

	err := u.restart(ctx, n, func(n session.Node, ctx context.Context) (string, error) {
		actor, err := n.Reboot(ctx, u.reboot)
		restarts = mayRestart(err)

		return actor, err
	})
	if err == nil || restarts {
		return err
	}

	withdrawn, undone := withdraw(ctx, n)

	switch {
	case undone != nil:
		return fmt.Errorf("%w; the next boot tries the version nevertheless: %w", err, undone)
	case withdrawn:
		u.say(n, "the version is not tried at a later boot")
	}

	return err
}

// restart takes the node down by begin, drained if it is to be, and waits until it runs and has kept the version.
func (u *upgrade) restart(ctx context.Context, n session.Node, begin beginner) error {
	var (
		id  string
		ran bool
	)

	armed := func(n session.Node, ctx context.Context) (string, error) {
		// One that has lost its configuration does not run, and may not run afterwards.
		stage, err := stageOf(ctx, n)
		ran = err != nil || stage != "booting"

		actor, err := begin(n, ctx)
		if err == nil {
			id = armedTrial(ctx, n)
		}

		return actor, err
	}
	kept := func(ctx context.Context, n session.Node, before boot, say func(string)) error {
		booted := untilBooted
		if !ran && id != "" {
			booted = untilNewBoot
		}

		if err := booted(ctx, n, before, say); err != nil || id == "" {
			return err
		}

		return untilKept(ctx, n, id, say)
	}

	if !u.draining.drain {
		return u.tracking.follow(ctx, n, armed, kept)
	}

	cluster, err := clusterOf(ctx, n)
	if err != nil && u.mustDrain {
		return err
	}

	if err != nil {
		u.say(n, "not drained: "+err.Error())

		return u.tracking.follow(ctx, n, armed, kept)
	}
	defer cluster.Close()

	return u.draining.follow(ctx, n, &u.tracking, cluster, armed, kept)
}

// clusterOf returns a client of the cluster that has the node.
func clusterOf(ctx context.Context, n session.Node) (*kube.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()

	name, err := nodenameOf(ctx, n)
	if err != nil {
		return nil, err
	}

	// The call goes to the endpoint, a control plane node: the node itself may be a worker.
	cluster, err := n.Kubernetes(ctx, "")
	if err != nil {
		return nil, err
	}

	if _, err := cluster.Node(ctx, name); err != nil {
		cluster.Close()

		return nil, err
	}

	return cluster, nil
}

func (u *upgrade) install(ctx context.Context, n session.Node) error {
	u.say(n, "pulling "+u.image)

	image, failed := session.PullImage(ctx, n, u.store, u.image)
	if failed != nil { // it may have been imported
		image = u.image
	}

	for message, err := range n.Upgrade(ctx, u.store, image) {
		// Without containerd, the node has looked in the registry itself.
		if failed != nil && status.Code(err) == codes.NotFound && status.Code(failed) != codes.Unavailable {
			return failed
		}

		if err != nil {
			return err
		}

		u.say(n, message)
	}

	return nil
}

func (u *upgrade) oneCall(ctx context.Context, n session.Node) error {
	if u.stay {
		return errors.New("the node can only upgrade and reboot in one call: omit --no-reboot")
	}

	request := &machine.UpgradeRequest{Image: u.image, Preserve: true, Force: u.force}
	if u.reboot == machine.RebootRequest_POWERCYCLE {
		request.RebootMode = machine.UpgradeRequest_POWERCYCLE
	}

	return u.restart(ctx, n, func(n session.Node, ctx context.Context) (string, error) { return n.LegacyUpgrade(ctx, request) })
}

func (u *upgrade) say(n session.Node, message string) {
	u.tracking.out.Print(n.Name, message) // a failure to print does not stop the upgrade
}

func newRollbackCommand(s *session.Session) *cobra.Command {
	return s.Flags(&cobra.Command{
		Use:   "rollback",
		Short: "Reboot the nodes into the version that they had before",
		Long: `Reboot the nodes into the version that they had before the last upgrade. That is tried like an upgrade: a node on which the version is
not healthy in time comes back to the present one.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.Each(cmd, func(ctx context.Context, n session.Node) error { return n.Rollback(ctx) })
		},
	})
}
