// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/machine"
)

func newUpgradeCommand(s *connection) *cobra.Command {
	var upgrade upgrade

	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Upgrade the nodes to another version",
		Long: `Have the nodes pull an installer image, write the version in it beside the present one, and reboot into it.

Kubernetes pods are not moved away first: drain the node with kubectl drain.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var known bool

			if upgrade.reboot, known = rebootModes[upgrade.mode]; !known || upgrade.mode == "force" {
				return usageError(cmd, "--reboot-mode %q is unknown: want default or powercycle", upgrade.mode)
			}

			upgrade.tracking.out = &lines{w: cmd.ErrOrStderr()}

			return s.each(cmd, upgrade.node)
		},
	}

	s.flags(cmd)
	upgrade.tracking.flags(cmd, "wait until the nodes run again, showing their events")
	upgrade.store.flag(cmd, "system")
	cmd.Flags().StringVarP(&upgrade.image, "image", "i", "", "installer image")
	cmd.Flags().StringVarP(&upgrade.mode, "reboot-mode", "m", "default", "default or powercycle (through the firmware)")
	cmd.Flags().BoolVar(&upgrade.stay, "no-reboot", false, "do not reboot: the next reboot is into the new version")
	cmd.Flags().BoolVar(&upgrade.legacy, "legacy", false, "the way of nodes that have no lifecycle service; without the flag it is tried where that is missing")
	complete(cmd, "reboot-mode", "default", "powercycle")

	if err := cmd.MarkFlagRequired("image"); err != nil {
		panic(err) // The flag is defined above.
	}

	return cmd
}

type upgrade struct {
	tracking     tracking
	store        imageStore
	image, mode  string
	reboot       machine.RebootRequest_Mode
	stay, legacy bool
}

func (u *upgrade) node(ctx context.Context, n node) error {
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

	return u.tracking.follow(ctx, n, func(ctx context.Context) (string, error) { return n.Reboot(ctx, u.reboot) }, n.untilBooted)
}

func (u *upgrade) install(ctx context.Context, n node) error {
	instance, err := u.store.instance()
	if err != nil {
		return err
	}

	image := u.image

	u.say(n, "pulling "+image)

	for progress, err := range n.PullImage(ctx, instance, image) {
		if err != nil {
			return err
		}

		if name := progress.GetName(); name != "" {
			image = name
		}
	}

	for message, err := range n.Upgrade(ctx, instance, image) {
		if err != nil {
			return err
		}

		u.say(n, message)
	}

	return nil
}

func (u *upgrade) oneCall(ctx context.Context, n node) error {
	if u.stay {
		return errors.New("the node can only upgrade and reboot at once: leave --no-reboot out")
	}

	request := &machine.UpgradeRequest{Image: u.image, Preserve: true}
	if u.reboot == machine.RebootRequest_POWERCYCLE {
		request.RebootMode = machine.UpgradeRequest_POWERCYCLE
	}

	return u.tracking.follow(ctx, n, func(ctx context.Context) (string, error) { return n.LegacyUpgrade(ctx, request) }, n.untilBooted)
}

func (u *upgrade) say(n node, message string) {
	u.tracking.out.print(n.name, message) // the upgrade goes on all the same
}
