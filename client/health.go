// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"iter"

	"github.com/seed-59268b81/talos/api/cluster"
)

// HealthCheck makes the node check its cluster, and streams the conditions that it waits for. The stream ends without an error
// when the cluster is healthy.
func (c *Client) HealthCheck(ctx context.Context, request *cluster.HealthCheckRequest) iter.Seq2[string, error] {
	received := answers(receive(ctx, "health check", c.Cluster.HealthCheck, request))

	return decoded(received, func(m *cluster.HealthCheckProgress) (string, bool, error) {
		return m.GetMessage(), m.GetMessage() == "", nil
	})
}
