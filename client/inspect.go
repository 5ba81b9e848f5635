// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/inspect"
)

// ControllerDependencies returns the edges of the graph of controllers and resource types.
func (c *Client) ControllerDependencies(ctx context.Context) ([]*inspect.ControllerDependencyEdge, error) {
	return field(ctx, "controller dependencies", c.Inspect.ControllerRuntimeDependencies, &emptypb.Empty{}, (*inspect.ControllerRuntimeDependency).GetEdges)
}
