// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
)

func newStatsCommand() *cobra.Command {
	var (
		connection connection
		output     output
		namespace  namespace
	)

	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Show the memory and CPU time of containers",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return list(cmd, &connection, &output, statColumns, func(n node, ctx context.Context) ([]*machine.Stat, error) {
				stats, err := n.ContainerStats(ctx, namespace.name())
				slices.SortFunc(stats, func(a, b *machine.Stat) int { return cmp.Compare(a.GetId(), b.GetId()) })

				return stats, err
			})
		},
	}

	connection.flags(cmd)
	output.flag(cmd)
	namespace.flag(cmd, "show the containers of Kubernetes' pods")

	return cmd
}

var statColumns = []column[*machine.Stat]{
	{"NAMESPACE", (*machine.Stat).GetNamespace},
	{"ID", func(s *machine.Stat) string { return inPod(s) }},
	{"MEMORY(MB)", func(s *machine.Stat) string { return megabytes(s.GetMemoryUsage()) }},
	{"CPU", func(s *machine.Stat) string { return strconv.FormatUint(s.GetCpuUsage(), 10) }},
}
