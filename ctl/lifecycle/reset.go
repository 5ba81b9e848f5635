// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/ctl/session"
	"github.com/seed-59268b81/talos/layout"
)

// wipeModes are the values of --wipe-mode.
var wipeModes = []session.Named[machine.ResetRequest_WipeMode]{
	{Name: "all", Value: machine.ResetRequest_ALL},
	{Name: "system-disk", Value: machine.ResetRequest_SYSTEM_DISK},
	{Name: "user-disks", Value: machine.ResetRequest_USER_DISKS},
}

func newResetCommand(s *session.Session) *cobra.Command {
	var (
		tracking tracking
		request  machine.ResetRequest
		labels   []string
	)

	cmd := s.MaintenanceFlags(&cobra.Command{
		Use:   "reset",
		Short: "Wipe the nodes",
		Long: `Wipe the nodes: they leave etcd, their pods end, and the whole system disk is wiped. They boot again from another medium only.

With --system-labels-to-wipe only these partitions of the system disk are wiped: with EPHEMERAL alone the node stays in its cluster, with
STATE it loses its configuration. A reset that is cut off goes on at the next boot.

A node whose member etcd needs refuses to go. With --graceful=false it does not leave etcd, its pods are killed, and it is wiped in any case.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, label := range labels {
				request.SystemPartitionsToWipe = append(request.SystemPartitionsToWipe, &machine.ResetPartitionSpec{Label: label, Wipe: true})
			}

			done := untilOff
			if request.Reboot {
				done = untilReset
			}

			return tracking.each(s, cmd, func(n session.Node, ctx context.Context) (string, error) { return n.Reset(ctx, &request) }, done)
		},
	})

	tracking.flags(cmd, "wait until the nodes are wiped, and show their events")
	cmd.Flags().BoolVar(&request.Graceful, "graceful", true, "leave the cluster in order: drain the node, leave etcd")
	cmd.Flags().BoolVar(&request.Reboot, "reboot", false, "reboot afterwards, instead of powering off")
	session.EnumFlag(cmd, &request.Mode, "wipe-mode", "", "all", "what to wipe: all, system-disk or user-disks", wipeModes)
	cmd.Flags().StringSliceVar(&labels, "system-labels-to-wipe", nil, "wipe these partitions of the system disk only, such as EPHEMERAL")
	cmd.Flags().StringSliceVar(&request.UserDisksToWipe, "user-disks-to-wipe", nil, "wipe these disks, such as /dev/sdb")
	session.Complete(cmd, "system-labels-to-wipe", layout.PartitionEphemeral, layout.PartitionState, layout.PartitionMeta)

	return cmd
}

// untilReset waits until the node has booted again, with its configuration or in maintenance.
func untilReset(ctx context.Context, n session.Node, before boot, say func(string)) error {
	return until(ctx, "for the node to be reset", func() (bool, error) {
		now, err := bootOf(ctx, n)

		switch {
		case err == nil && now != before:
			say("booted")
		case inMaintenance(ctx, n.Name):
			say("booted, in maintenance")
		default:
			return false, err
		}

		return true, nil
	})
}

// inMaintenance reports whether a machine answers in maintenance, where it has no configuration.
func inMaintenance(ctx context.Context, name string) bool {
	nodes, closeAll, err := session.Maintenance(name).Targets()
	if err != nil {
		return false
	}

	defer closeAll()

	stage, err := stageOf(ctx, nodes[0])

	return err == nil && stage == "maintenance"
}
