// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/storage"
)

func newDisksCommand(s *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "disks",
		Short: "List disks; talosctl get disks tells more of them",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return list(cmd, s, diskColumns, node.Disks)
		},
	}

	s.flags(cmd)
	s.maintenanceFlags(cmd)
	s.outputFlag(cmd)

	return cmd
}

var diskColumns = []column[*storage.Disk]{
	{"DEV", (*storage.Disk).GetDeviceName},
	{"MODEL", func(d *storage.Disk) string { return dash(d.GetModel()) }},
	{"SERIAL", func(d *storage.Disk) string { return dash(d.GetSerial()) }},
	{"TYPE", func(d *storage.Disk) string { return d.GetType().String() }},
	{"UUID", func(d *storage.Disk) string { return dash(d.GetUuid()) }},
	{"WWID", func(d *storage.Disk) string { return dash(d.GetWwid()) }},
	{"MODALIAS", func(d *storage.Disk) string { return dash(d.GetModalias()) }},
	{"NAME", func(d *storage.Disk) string { return dash(d.GetName()) }},
	{"SIZE", func(d *storage.Disk) string { return size(int64(d.GetSize()), true) }},
	{"BUS_PATH", func(d *storage.Disk) string { return dash(d.GetBusPath()) }},
	{"SUBSYSTEM", func(d *storage.Disk) string { return dash(d.GetSubsystem()) }},
	{"READ_ONLY", func(d *storage.Disk) string { return strconv.FormatBool(d.GetReadonly()) }},
	{"SYSTEM_DISK", func(d *storage.Disk) string {
		if d.GetSystemDisk() {
			return "*"
		}

		return ""
	}},
}

// dash stands for what is not known.
func dash(text string) string {
	if text == "" {
		return "-"
	}

	return text
}
