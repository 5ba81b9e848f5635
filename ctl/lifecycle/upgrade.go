// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newUpgradeCommand(s *session.Session) *cobra.Command {
	var upgrade upgrade

	cmd := s.Flags(&cobra.Command{
		Use:   "upgrade",
		Short: "Upgrade the nodes to another version",
		Long: `Have the nodes pull an installer image, install its version beside the present one, and reboot into it.

The command does not move Kubernetes pods away first: drain the node with kubectl drain.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			upgrade.tracking.out = session.NewLines(cmd.ErrOrStderr())

			return s.Each(cmd, upgrade.node)
		},
	})

	upgrade.tracking.flags(cmd, "wait until the nodes run again, and show their events")
	session.ImageStoreFlag(cmd, &upgrade.store, "system")
	cmd.Flags().StringVarP(&upgrade.image, "image", "i", "", "installer image")
	session.EnumFlag(cmd, &upgrade.reboot, "reboot-mode", "m", "default", "default or powercycle (through the firmware)", rebootModes[:2])
	cmd.Flags().BoolVar(&upgrade.stay, "no-reboot", false, "do not reboot: the next reboot is into the new version")
	cmd.Flags().BoolVar(&upgrade.legacy, "legacy", false, "use the call of nodes without a lifecycle service; by default the command falls back to it")

	return session.Require(cmd, "image")
}

type upgrade struct {
	tracking     tracking
	store        *common.ContainerdInstance
	image        string
	reboot       machine.RebootRequest_Mode
	stay, legacy bool
}

func (u *upgrade) node(ctx context.Context, n session.Node) error {
	if u.legacy {
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

	return u.tracking.follow(ctx, n, func(n session.Node, ctx context.Context) (string, error) { return n.Reboot(ctx, u.reboot) }, untilBooted)
}

func (u *upgrade) install(ctx context.Context, n session.Node) error {
	u.say(n, "pulling "+u.image)

	image, err := session.PullImage(ctx, n, u.store, u.image)
	if err != nil {
		return err
	}

	for message, err := range n.Upgrade(ctx, u.store, image) {
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

	request := &machine.UpgradeRequest{Image: u.image, Preserve: true}
	if u.reboot == machine.RebootRequest_POWERCYCLE {
		request.RebootMode = machine.UpgradeRequest_POWERCYCLE
	}

	return u.tracking.follow(ctx, n, func(n session.Node, ctx context.Context) (string, error) { return n.LegacyUpgrade(ctx, request) }, untilBooted)
}

func (u *upgrade) say(n session.Node, message string) {
	u.tracking.out.Print(n.Name, message) // a failure to print does not stop the upgrade
}

func newRollbackCommand(s *session.Session) *cobra.Command {
	return s.Flags(&cobra.Command{
		Use:   "rollback",
		Short: "Reboot the nodes into the version that they had before",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.Each(cmd, func(ctx context.Context, n session.Node) error { return n.Rollback(ctx) })
		},
	})
}
