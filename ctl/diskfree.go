// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/layout"
)

func newDiskFreeCommand() *cobra.Command {
	var (
		connection connection
		output     output
		exact      bool
	)

	cmd := &cobra.Command{
		Use:     "diskfree [PATH]",
		Aliases: []string{"df"},
		Short:   "Show how full the file system is that holds a path",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := layout.VarDir
			if len(args) == 1 {
				path = args[0]
			}

			return list(cmd, &connection, &output, diskFreeColumns(path, exact), single(
				func(n node, ctx context.Context) (*machine.StorageServiceStatfsResponse, error) {
					return n.Statfs(ctx, path)
				},
			))
		},
	}

	connection.flags(cmd)
	connection.maintenanceFlags(cmd)
	output.flag(cmd)
	cmd.Flags().BoolVarP(&exact, "bytes", "b", false, "sizes in bytes")

	return cmd
}

func diskFreeColumns(path string, exact bool) []column[*machine.StorageServiceStatfsResponse] {
	type usage = *machine.StorageServiceStatfsResponse

	bytes := func(get func(usage) uint64) func(usage) string {
		return func(u usage) string { return size(int64(get(u)), !exact) }
	}
	count := func(get func(usage) uint64) func(usage) string {
		return func(u usage) string { return strconv.FormatUint(get(u), 10) }
	}

	return []column[usage]{
		{"PATH", func(usage) string { return path }},
		{"SIZE", bytes(usage.GetSize)},
		{"USED", bytes(usage.GetUsed)},
		{"AVAILABLE", bytes(usage.GetAvailable)},
		{"PERCENT USED", func(u usage) string { return share(u.GetUsed(), u.GetSize()) }},
		{"INODES", count(usage.GetInodes)},
		{"INODES USED", count(usage.GetInodesUsed)},
		{"INODES FREE", count(usage.GetInodesFree)},
	}
}
