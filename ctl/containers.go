// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
)

func newContainersCommand(s *connection) *cobra.Command {
	return listContainers(s, &cobra.Command{
		Use:     "containers",
		Aliases: []string{"c"},
		Short:   "List containers",
	}, "list the containers of Kubernetes' pods", containerColumns, node.Containers)
}

var containerColumns = []column[*machine.ContainerInfo]{
	{"NAMESPACE", (*machine.ContainerInfo).GetNamespace},
	{"ID", func(c *machine.ContainerInfo) string { return inPod(c) }},
	{"IMAGE", (*machine.ContainerInfo).GetImage},
	{"PID", func(c *machine.ContainerInfo) string { return strconv.FormatUint(uint64(c.GetPid()), 10) }},
	{"STATUS", (*machine.ContainerInfo).GetStatus},
}

// container is what there is a line about in the lists of containers.
type container interface {
	GetId() string
	GetPodId() string
}

// listContainers completes a command that lists containers, or something of each: those of a pod after the pod.
func listContainers[C container](
	s *connection, cmd *cobra.Command, usage string, columns []column[C], fetch func(n node, ctx context.Context, namespace string) ([]C, error),
) *cobra.Command {
	var namespace namespace

	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return list(cmd, s, columns, func(n node, ctx context.Context) ([]C, error) {
			found, err := fetch(n, ctx, namespace.name())
			slices.SortFunc(found, func(a, b C) int {
				return cmp.Or(strings.Compare(a.GetPodId(), b.GetPodId()), strings.Compare(a.GetId(), b.GetId()))
			})

			return found, err
		})
	}

	s.flags(cmd)
	s.outputFlag(cmd)
	namespace.flag(cmd, usage)

	return cmd
}

// inPod sets the containers of a pod below the pod.
func inPod(c container) string {
	if c.GetPodId() != "" && c.GetId() != c.GetPodId() {
		return "└─ " + c.GetId()
	}

	return c.GetId()
}

// namespace is the flag that says of which containers a command speaks.
type namespace struct {
	kubernetes bool
}

func (n *namespace) flag(cmd *cobra.Command, usage string) {
	cmd.Flags().BoolVarP(&n.kubernetes, "kubernetes", "k", false, usage)
}

func (n *namespace) name() string {
	if n.kubernetes {
		return client.KubernetesNamespace
	}

	return client.SystemNamespace
}
