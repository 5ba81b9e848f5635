// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
)

func newStatsCommand(s *connection) *cobra.Command {
	return listContainers(s, &cobra.Command{
		Use:   "stats",
		Short: "Show the memory and CPU time of containers",
	}, "show the containers of Kubernetes' pods", statColumns, node.ContainerStats)
}

var statColumns = []column[*machine.Stat]{
	{"NAMESPACE", (*machine.Stat).GetNamespace},
	{"ID", func(s *machine.Stat) string { return inPod(s) }},
	{"MEMORY(MB)", func(s *machine.Stat) string { return megabytes(s.GetMemoryUsage()) }},
	{"CPU", func(s *machine.Stat) string { return strconv.FormatUint(s.GetCpuUsage(), 10) }},
}
