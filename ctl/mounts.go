// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
)

func newMountsCommand(s *connection) *cobra.Command {
	return listCommand(s, &cobra.Command{Use: "mounts", Aliases: []string{"mount"}, Short: "List mounts"}, mountColumns, node.Mounts)
}

var mountColumns = []column[*machine.MountStat]{
	{"FILESYSTEM", (*machine.MountStat).GetFilesystem},
	{"SIZE(GB)", func(m *machine.MountStat) string { return gigabytes(m.GetSize()) }},
	{"USED(GB)", func(m *machine.MountStat) string { return gigabytes(mountUsed(m)) }},
	{"AVAILABLE(GB)", func(m *machine.MountStat) string { return gigabytes(m.GetAvailable()) }},
	{"PERCENT USED", func(m *machine.MountStat) string { return share(mountUsed(m), m.GetSize()) }},
	{"MOUNTED ON", (*machine.MountStat).GetMountedOn},
}

func mountUsed(m *machine.MountStat) uint64 {
	return m.GetSize() - min(m.GetSize(), m.GetAvailable())
}
