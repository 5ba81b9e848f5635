// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/storage"
)

func newDisksCommand(s *Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "disks",
		Short: "List disks; talosctl get disks tells more of them",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return List(cmd, s, diskColumns, Node.Disks)
		},
	}

	s.Flags(cmd)
	s.MaintenanceFlags(cmd)
	s.OutputFlag(cmd)

	return cmd
}

var diskColumns = []Column[*storage.Disk]{
	Col("DEV", (*storage.Disk).GetDeviceName),
	Col("MODEL", func(d *storage.Disk) string { return Dash(d.GetModel()) }),
	Col("SERIAL", func(d *storage.Disk) string { return Dash(d.GetSerial()) }),
	Col("TYPE", func(d *storage.Disk) string { return d.GetType().String() }),
	Col("UUID", func(d *storage.Disk) string { return Dash(d.GetUuid()) }),
	Col("WWID", func(d *storage.Disk) string { return Dash(d.GetWwid()) }),
	Col("MODALIAS", func(d *storage.Disk) string { return Dash(d.GetModalias()) }),
	Col("NAME", func(d *storage.Disk) string { return Dash(d.GetName()) }),
	Col("SIZE", func(d *storage.Disk) string { return Size(int64(d.GetSize()), true) }),
	Col("BUS_PATH", func(d *storage.Disk) string { return Dash(d.GetBusPath()) }),
	Col("SUBSYSTEM", func(d *storage.Disk) string { return Dash(d.GetSubsystem()) }),
	Col("READ_ONLY", func(d *storage.Disk) string { return strconv.FormatBool(d.GetReadonly()) }),
	Col("SYSTEM_DISK", func(d *storage.Disk) string {
		if d.GetSystemDisk() {
			return "*"
		}

		return ""
	}),
}
