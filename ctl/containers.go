// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
)

func newContainersCommand() *cobra.Command {
	var (
		connection connection
		output     output
		namespace  namespace
	)

	cmd := &cobra.Command{
		Use:     "containers",
		Aliases: []string{"c"},
		Short:   "List containers",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return list(cmd, &connection, &output, containerColumns, func(n node, ctx context.Context) ([]*machine.ContainerInfo, error) {
				containers, err := n.Containers(ctx, namespace.name())
				slices.SortFunc(containers, func(a, b *machine.ContainerInfo) int { return cmp.Compare(a.GetId(), b.GetId()) })

				return containers, err
			})
		},
	}

	connection.flags(cmd)
	output.flag(cmd)
	namespace.flag(cmd, "list the containers of Kubernetes' pods")

	return cmd
}

var containerColumns = []column[*machine.ContainerInfo]{
	{"NAMESPACE", (*machine.ContainerInfo).GetNamespace},
	{"ID", func(c *machine.ContainerInfo) string { return inPod(c) }},
	{"IMAGE", (*machine.ContainerInfo).GetImage},
	{"PID", func(c *machine.ContainerInfo) string { return strconv.FormatUint(uint64(c.GetPid()), 10) }},
	{"STATUS", (*machine.ContainerInfo).GetStatus},
}

// inPod sets the containers of a pod below the pod.
func inPod(c interface {
	GetId() string
	GetPodId() string
},
) string {
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
