// SPDX-License-Identifier: Apache-2.0

package filesystem

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/ctl/session"
	"github.com/seed-59268b81/talos/layout"
)

func newDiskFreeCommand(s *session.Session) *cobra.Command {
	var exact bool

	cmd := s.OutputFlag(s.MaintenanceFlags(&cobra.Command{
		Use:     "diskfree [PATH]",
		Aliases: []string{"df"},
		Short:   "Show the free space of the file system that holds a path",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := layout.VarDir
			if len(args) == 1 {
				path = args[0]
			}

			return session.List(s, cmd, diskFreeColumns(path, exact), session.Single(
				func(n session.Node, ctx context.Context) (*machine.StorageServiceStatfsResponse, error) {
					return n.Statfs(ctx, path)
				},
			))
		},
	}))

	cmd.Flags().BoolVarP(&exact, "bytes", "b", false, "sizes in bytes")

	return cmd
}

func diskFreeColumns(path string, exact bool) []session.Column[*machine.StorageServiceStatfsResponse] {
	type usage = *machine.StorageServiceStatfsResponse

	bytes := func(get func(usage) uint64) func(usage) string {
		return func(u usage) string { return session.Size(int64(get(u)), !exact) }
	}
	count := func(get func(usage) uint64) func(usage) string {
		return func(u usage) string { return strconv.FormatUint(get(u), 10) }
	}

	return []session.Column[usage]{
		session.Col("PATH", func(usage) string { return path }),
		session.Col("SIZE", bytes(usage.GetSize)),
		session.Col("USED", bytes(usage.GetUsed)),
		session.Col("AVAILABLE", bytes(usage.GetAvailable)),
		session.Col("PERCENT USED", func(u usage) string { return session.Share(u.GetUsed(), u.GetSize()) }),
		session.Col("INODES", count(usage.GetInodes)),
		session.Col("INODES USED", count(usage.GetInodesUsed)),
		session.Col("INODES FREE", count(usage.GetInodesFree)),
	}
}
