// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/inspect"
)

// ControllerDependencies returns the edges of the graph of controllers and resource types.
func (c *Client) ControllerDependencies(ctx context.Context) ([]*inspect.ControllerDependencyEdge, error) {
	r, err := c.Inspect.ControllerRuntimeDependencies(ctx, &emptypb.Empty{})
	m, err := unwrap("controller dependencies", r, err)

	return m.GetEdges(), err
}
