// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newLogsCommand(s *session.Session) *cobra.Command {
	var (
		boot       earlierBoot
		request    machine.LogsRequest
		kubernetes bool
	)

	cmd := s.MaintenanceFlags(&cobra.Command{
		Use:   "logs SERVICE|CONTAINER",
		Short: "Print the log of a service or container",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			request.Namespace, request.Id = client.SystemNamespace, args[0]
			if kubernetes {
				request.Namespace, request.Driver = client.KubernetesNamespace, common.ContainerDriver_CRI
			}

			return boot.print(s, cmd, func(ctx context.Context, n session.Node) io.ReadCloser { return n.Logs(ctx, &request) })
		},
		ValidArgsFunction: s.CompleteArg(0, func(n session.Node, ctx context.Context) ([]string, error) {
			if kubernetes {
				return session.ContainerIDs(ctx, n, client.KubernetesNamespace)
			}

			return n.LogNames(boot.of(ctx))
		}),
	})

	boot.flag(cmd)
	cmd.Flags().BoolVarP(&request.Follow, "follow", "f", false, "follow new lines")
	cmd.Flags().Int32Var(&request.TailLines, "tail", -1, "begin with this many last lines; -1 for all lines")
	cmd.Flags().BoolVarP(&kubernetes, "kubernetes", "k", false, "print the log of a Kubernetes container")

	return cmd
}
