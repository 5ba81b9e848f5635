// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/storage"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newDisksCommand(s *session.Session) *cobra.Command {
	return s.OutputFlag(s.MaintenanceFlags(&cobra.Command{
		Use:   "disks",
		Short: "List disks; talosctl get disks has the details",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return session.List(s, cmd, diskColumns, session.Node.Disks)
		},
	}))
}

var diskColumns = []session.Column[*storage.Disk]{
	session.Col("DEV", (*storage.Disk).GetDeviceName),
	session.Col("MODEL", func(d *storage.Disk) string { return cmp.Or(d.GetModel(), "-") }),
	session.Col("SERIAL", func(d *storage.Disk) string { return cmp.Or(d.GetSerial(), "-") }),
	session.Col("TYPE", func(d *storage.Disk) string { return d.GetType().String() }),
	session.Col("UUID", func(d *storage.Disk) string { return cmp.Or(d.GetUuid(), "-") }),
	session.Col("WWID", func(d *storage.Disk) string { return cmp.Or(d.GetWwid(), "-") }),
	session.Col("MODALIAS", func(d *storage.Disk) string { return cmp.Or(d.GetModalias(), "-") }),
	session.Col("NAME", func(d *storage.Disk) string { return cmp.Or(d.GetName(), "-") }),
	session.Col("SIZE", func(d *storage.Disk) string { return session.Size(int64(d.GetSize()), true) }),
	session.Col("BUS_PATH", func(d *storage.Disk) string { return cmp.Or(d.GetBusPath(), "-") }),
	session.Col("SUBSYSTEM", func(d *storage.Disk) string { return cmp.Or(d.GetSubsystem(), "-") }),
	session.Col("READ_ONLY", func(d *storage.Disk) string { return strconv.FormatBool(d.GetReadonly()) }),
	session.Col("SYSTEM_DISK", func(d *storage.Disk) string {
		if d.GetSystemDisk() {
			return "*"
		}

		return ""
	}),
}
