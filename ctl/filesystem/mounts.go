// SPDX-License-Identifier: Apache-2.0

package filesystem

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newMountsCommand(s *session.Session) *cobra.Command {
	return session.ListCommand(s, &cobra.Command{Use: "mounts", Aliases: []string{"mount"}, Short: "List mounts"}, mountColumns, session.Node.Mounts)
}

var mountColumns = []session.Column[*machine.MountStat]{
	session.Col("FILESYSTEM", (*machine.MountStat).GetFilesystem),
	session.Col("SIZE(GB)", func(m *machine.MountStat) string { return gigabytes(m.GetSize()) }),
	session.Col("USED(GB)", func(m *machine.MountStat) string { return gigabytes(mountUsed(m)) }),
	session.Col("AVAILABLE(GB)", func(m *machine.MountStat) string { return gigabytes(m.GetAvailable()) }),
	session.Col("PERCENT USED", func(m *machine.MountStat) string { return session.Share(mountUsed(m), m.GetSize()) }),
	session.Col("MOUNTED ON", (*machine.MountStat).GetMountedOn),
}

func mountUsed(m *machine.MountStat) uint64 {
	return m.GetSize() - min(m.GetSize(), m.GetAvailable())
}

// gigabytes formats bytes in GB.
func gigabytes(bytes uint64) string {
	return strconv.FormatFloat(float64(bytes)/1e9, 'f', 2, 64)
}

// Files returns the files of this package in a support bundle.
func Files(context.Context, session.Node) ([]session.BundleFile, error) {
	return []session.BundleFile{session.TableFile("mounts.txt", mountColumns, session.Node.Mounts)}, nil
}
