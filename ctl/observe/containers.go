// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newContainersCommand(s *session.Session) *cobra.Command {
	return listContainers(s, &cobra.Command{
		Use:     "containers",
		Aliases: []string{"c"},
		Short:   "List containers",
	}, "list the containers of Kubernetes' pods", containerColumns, session.Node.Containers)
}

var containerColumns = []session.Column[*machine.ContainerInfo]{
	session.Col("NAMESPACE", (*machine.ContainerInfo).GetNamespace),
	session.Col("ID", func(c *machine.ContainerInfo) string { return inPod(c) }),
	session.Col("IMAGE", (*machine.ContainerInfo).GetImage),
	session.Col("PID", func(c *machine.ContainerInfo) string { return strconv.FormatUint(uint64(c.GetPid()), 10) }),
	session.Col("STATUS", (*machine.ContainerInfo).GetStatus),
}

// container is an item of the lists of containers.
type container interface {
	GetId() string
	GetPodId() string
}

// listContainers completes a command that lists containers. The containers of a pod follow the pod.
func listContainers[C container](
	s *session.Session, cmd *cobra.Command, usage string, columns []session.Column[C], fetch func(n session.Node, ctx context.Context, namespace string) ([]C, error),
) *cobra.Command {
	var namespace session.ContainerNamespace

	session.ListCommand(s, cmd, columns, func(n session.Node, ctx context.Context) ([]C, error) {
		found, err := fetch(n, ctx, namespace.Name())
		slices.SortFunc(found, func(a, b C) int {
			return cmp.Or(strings.Compare(a.GetPodId(), b.GetPodId()), strings.Compare(a.GetId(), b.GetId()))
		})

		return found, err
	})
	namespace.Flag(cmd, usage)

	return cmd
}

// inPod returns the id of a container, drawn as a branch below its pod.
func inPod(c container) string {
	if c.GetPodId() != "" && c.GetId() != c.GetPodId() {
		return "└─ " + c.GetId()
	}

	return c.GetId()
}
