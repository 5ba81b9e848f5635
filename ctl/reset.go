// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/layout"
)

// wipeModes are the values of --wipe-mode.
var wipeModes = map[string]machine.ResetRequest_WipeMode{
	"all":         machine.ResetRequest_ALL,
	"system-disk": machine.ResetRequest_SYSTEM_DISK,
	"user-disks":  machine.ResetRequest_USER_DISKS,
}

func newResetCommand() *cobra.Command {
	var (
		connection connection
		tracking   tracking
		request    machine.ResetRequest
		mode       string
		labels     []string
	)

	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Wipe the nodes",
		Long: `Wipe the nodes: they leave etcd and their disks are erased.

With --system-labels-to-wipe only these partitions of the system disk are wiped; EPHEMERAL alone keeps the node in its
cluster, and STATE too makes it forget its configuration.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var known bool

			if request.Mode, known = wipeModes[mode]; !known {
				return usageError(cmd, "--wipe-mode %q is unknown: want all, system-disk or user-disks", mode)
			}

			for _, label := range labels {
				request.SystemPartitionsToWipe = append(request.SystemPartitionsToWipe, &machine.ResetPartitionSpec{Label: label, Wipe: true})
			}

			tracking.out = &lines{w: cmd.ErrOrStderr()}

			return connection.each(cmd.Context(), func(ctx context.Context, n node) error {
				done := n.untilOff
				if request.Reboot {
					done = n.untilReset
				}

				return tracking.follow(ctx, n, func(ctx context.Context) (string, error) { return n.Reset(ctx, &request) }, done)
			})
		},
	}

	connection.flags(cmd)
	tracking.flags(cmd, "wait until the nodes are wiped, showing their events")
	cmd.Flags().BoolVar(&request.Graceful, "graceful", true, "leave the cluster in order: drain the node, leave etcd")
	cmd.Flags().BoolVar(&request.Reboot, "reboot", false, "reboot afterwards, instead of powering off")
	cmd.Flags().StringVar(&mode, "wipe-mode", "all", "what to wipe: all, system-disk or user-disks")
	cmd.Flags().StringSliceVar(&labels, "system-labels-to-wipe", nil, "wipe these partitions of the system disk only, such as EPHEMERAL")
	cmd.Flags().StringSliceVar(&request.UserDisksToWipe, "user-disks-to-wipe", nil, "wipe these disks, such as /dev/sdb")
	complete(cmd, "wipe-mode", "all", "system-disk", "user-disks")
	complete(cmd, "system-labels-to-wipe", layout.PartitionEphemeral, layout.PartitionState, layout.PartitionMeta)

	return cmd
}

// untilReset waits until the node is back: as itself, or in maintenance, where it knows no certificates any more.
func (n node) untilReset(ctx context.Context, before boot, say func(string)) error {
	return until(ctx, "for the node to be reset", func() (bool, error) {
		now, err := n.boot(ctx)

		switch {
		case err == nil && now != before:
			say("booted")
		case inMaintenance(ctx, n.name):
			say("booted, in maintenance")
		default:
			return false, err
		}

		return true, nil
	})
}

// inMaintenance tells whether a machine answers as one that has no configuration.
func inMaintenance(ctx context.Context, name string) bool {
	nodes, closeAll, err := (&connection{insecure: true, nodes: []string{name}}).targets()
	if err != nil {
		return false
	}

	defer closeAll()

	stage, err := nodes[0].stage(ctx)

	return err == nil && stage == "maintenance"
}
