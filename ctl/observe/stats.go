// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newStatsCommand(s *session.Session) *cobra.Command {
	return listContainers(s, &cobra.Command{
		Use:   "stats",
		Short: "Show the memory and CPU time of containers",
	}, "show the containers of Kubernetes' pods", statColumns, session.Node.ContainerStats)
}

var statColumns = []session.Column[*machine.Stat]{
	session.Col("NAMESPACE", (*machine.Stat).GetNamespace),
	session.Col("ID", func(s *machine.Stat) string { return inPod(s) }),
	session.Col("MEMORY(MB)", func(s *machine.Stat) string { return fmt.Sprintf("%.2f", float64(s.GetMemoryUsage())/1e6) }),
	session.Col("CPU", func(s *machine.Stat) string { return strconv.FormatUint(s.GetCpuUsage(), 10) }),
}
