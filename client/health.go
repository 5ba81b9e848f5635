// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"iter"

	"google.golang.org/grpc"

	"github.com/seed-59268b81/talos/api/cluster"
)

// HealthCheck has the node check its cluster and streams what it waits for. The stream ends without an error when the
// cluster is healthy.
func (c *Client) HealthCheck(ctx context.Context, request *cluster.HealthCheckRequest) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		received := receive(ctx, "health check", func(ctx context.Context) (grpc.ServerStreamingClient[cluster.HealthCheckProgress], error) {
			return c.Cluster.HealthCheck(ctx, request)
		})

		for m, err := range received {
			if err == nil {
				err = metadataError(m.GetMetadata())
			}

			if err == nil && m.GetMessage() == "" {
				continue
			}

			if !yield(m.GetMessage(), err) || err != nil {
				return
			}
		}
	}
}
