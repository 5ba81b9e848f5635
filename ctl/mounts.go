// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
)

func newMountsCommand(s *Session) *cobra.Command {
	return ListCommand(s, &cobra.Command{Use: "mounts", Aliases: []string{"mount"}, Short: "List mounts"}, mountColumns, Node.Mounts)
}

var mountColumns = []Column[*machine.MountStat]{
	Col("FILESYSTEM", (*machine.MountStat).GetFilesystem),
	Col("SIZE(GB)", func(m *machine.MountStat) string { return gigabytes(m.GetSize()) }),
	Col("USED(GB)", func(m *machine.MountStat) string { return gigabytes(mountUsed(m)) }),
	Col("AVAILABLE(GB)", func(m *machine.MountStat) string { return gigabytes(m.GetAvailable()) }),
	Col("PERCENT USED", func(m *machine.MountStat) string { return Share(mountUsed(m), m.GetSize()) }),
	Col("MOUNTED ON", (*machine.MountStat).GetMountedOn),
}

func mountUsed(m *machine.MountStat) uint64 {
	return m.GetSize() - min(m.GetSize(), m.GetAvailable())
}

// gigabytes writes bytes in GB, with two places.
func gigabytes(bytes uint64) string {
	return strconv.FormatFloat(float64(bytes)/1e9, 'f', 2, 64)
}
