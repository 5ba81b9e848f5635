// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
)

// rebootModes are the values of --mode.
var rebootModes = map[string]machine.RebootRequest_Mode{
	"default":    machine.RebootRequest_DEFAULT,
	"powercycle": machine.RebootRequest_POWERCYCLE,
	"force":      machine.RebootRequest_FORCE,
}

func newRebootCommand() *cobra.Command {
	var (
		connection connection
		tracking   tracking
		mode       string
	)

	cmd := &cobra.Command{
		Use:   "reboot",
		Short: "Reboot the nodes",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			requested, known := rebootModes[mode]
			if !known {
				return usageError(cmd, "--mode %q is unknown: want default, powercycle or force", mode)
			}

			tracking.out = &lines{w: cmd.ErrOrStderr()}

			return connection.each(cmd.Context(), func(ctx context.Context, n node) error {
				return tracking.follow(ctx, n, func(ctx context.Context) (string, error) { return n.Reboot(ctx, requested) }, n.untilBooted)
			})
		},
	}

	connection.flags(cmd)
	tracking.flags(cmd, "wait until the nodes run again, showing their events")
	cmd.Flags().StringVarP(&mode, "mode", "m", "default", "default, powercycle (through the firmware) or force (without stopping services)")
	complete(cmd, "mode", "default", "powercycle", "force")

	return cmd
}

// untilBooted waits until the node is in another boot than the given one and has come to rest.
func (n node) untilBooted(ctx context.Context, before boot, say func(string)) error {
	err := until(ctx, "for the node to boot", func() (bool, error) {
		now, err := n.boot(ctx)

		return err == nil && now != before, err
	})
	if err != nil {
		return err
	}

	say("booted")

	return until(ctx, "for the node to run", func() (bool, error) {
		stage, err := n.stage(ctx)
		rests := stage == "running" || stage == "maintenance"

		if rests {
			say(stage)
		}

		return rests, err
	})
}
