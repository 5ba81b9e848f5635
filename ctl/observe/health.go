// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/seed-59268b81/talos/api/cluster"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newHealthCommand(s *session.Session) *cobra.Command {
	var (
		wait     time.Duration
		server   bool
		initNode string
		info     cluster.ClusterInfo
	)

	cmd := s.Flags(&cobra.Command{
		Use:   "health",
		Short: "Wait until the cluster is healthy",
		Long: `Have one node check its cluster: etcd, the machine, the Kubernetes nodes and components. With --server=false this computer runs the
checks: of every machine through a control plane node, and of Kubernetes directly.

The command prints what it waits for, and ends when every check has passed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if initNode != "" {
				info.ControlPlaneNodes = append([]string{initNode}, info.ControlPlaneNodes...)
			}

			if wait <= 0 {
				return session.UsageError(cmd, "--wait-timeout %s: want a time to wait, such as 5m", wait)
			}

			say := func(line string) error {
				_, err := fmt.Fprintln(cmd.ErrOrStderr(), line)

				return err
			}

			return s.One(cmd, func(ctx context.Context, n session.Node) error {
				if !server {
					return (&healthCheck{node: n, info: &info}).run(ctx, wait, say)
				}

				for message, err := range n.HealthCheck(ctx, &cluster.HealthCheckRequest{WaitTimeout: durationpb.New(wait), ClusterInfo: &info}) {
					if err != nil {
						return err
					}

					if err := say(message); err != nil {
						return err
					}
				}

				return nil
			})
		},
	})

	cmd.Flags().BoolVar(&server, "server", true, "have the node run the checks, not this computer")
	cmd.Flags().DurationVar(&wait, "wait-timeout", 20*time.Minute, "how long to wait for the cluster to be healthy")
	cmd.Flags().StringSliceVar(&info.ControlPlaneNodes, "control-plane-nodes", nil, "addresses of the control plane nodes, if they should not be discovered")
	cmd.Flags().StringSliceVar(&info.WorkerNodes, "worker-nodes", nil, "addresses of the worker nodes, if they should not be discovered")
	cmd.Flags().StringVar(&initNode, "init-node", "", "address of the control plane node that was bootstrapped: one more of --control-plane-nodes")
	cmd.Flags().StringVar(&info.ForceEndpoint, "k8s-endpoint", "", "Kubernetes endpoint to check, instead of the configured one")

	return cmd
}
