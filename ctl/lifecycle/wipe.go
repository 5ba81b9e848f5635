// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/storage"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newWipeCommand(s *session.Session) *cobra.Command {
	return session.Group("wipe", "Wipe block devices, volumes and arrays",
		newWipeDiskCommand(s),
		wipeVolume(s, "lv GROUP/VOLUME", "Remove a logical volume of LVM", func(n session.Node, ctx context.Context, name string) error {
			group, volume, ok := strings.Cut(strings.TrimPrefix(name, "/dev/"), "/")
			if !ok {
				return fmt.Errorf("%q is not a logical volume: want GROUP/VOLUME", name)
			}

			return n.RemoveLogicalVolume(ctx, group, volume)
		}),
		wipeVolume(s, "vg GROUP", "Remove a volume group of LVM with its logical volumes", session.Node.RemoveVolumeGroup),
		wipeVolume(s, "pv DEVICE", "Remove the LVM label of a device", session.Node.RemovePhysicalVolume),
		wipeVolume(s, "md DEVICE", "Stop a RAID array and remove its label from its devices", session.Node.DestroyArray),
	)
}

func newWipeDiskCommand(s *session.Session) *cobra.Command {
	var (
		method         string
		drop           bool
		skipVolume     bool
		skipSecondary  bool
		wipeMethodList = []string{"FAST", "ZEROES"}
	)

	cmd := s.MaintenanceFlags(&cobra.Command{
		Use:   "disk DEVICE...",
		Short: "Wipe disks or partitions that are not in use, given as sda or sda1",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			how, known := storage.BlockDeviceWipeDescriptor_Method_value[strings.ToUpper(method)]
			if !known {
				return session.UsageError(cmd, "--method %q is unknown: want %s", method, strings.Join(wipeMethodList, " or "))
			}

			var devices []*storage.BlockDeviceWipeDescriptor

			for _, arg := range args {
				devices = append(devices, &storage.BlockDeviceWipeDescriptor{
					Device: strings.TrimPrefix(arg, "/dev/"), Method: storage.BlockDeviceWipeDescriptor_Method(how),
					DropPartition: drop, SkipVolumeCheck: skipVolume, SkipSecondaryCheck: skipSecondary,
				})
			}

			return s.Each(cmd, func(ctx context.Context, n session.Node) error { return n.WipeDevices(ctx, devices...) })
		},
	})

	cmd.Flags().StringVar(&method, "method", "FAST", "FAST erases signatures, ZEROES the whole device")
	cmd.Flags().BoolVar(&drop, "drop-partition", false, "also remove the partition from its table")
	cmd.Flags().BoolVar(&skipVolume, "skip-volume-check", false, "also wipe devices of volumes")
	cmd.Flags().BoolVar(&skipSecondary, "skip-secondary-check", false, "also wipe devices that RAID or LVM uses")
	session.Complete(cmd, "method", wipeMethodList...)

	return cmd
}

func wipeVolume(s *session.Session, use, short string, wipe func(n session.Node, ctx context.Context, name string) error) *cobra.Command {
	return s.MaintenanceFlags(&cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.Each(cmd, func(ctx context.Context, n session.Node) error { return wipe(n, ctx, args[0]) })
		},
	})
}
