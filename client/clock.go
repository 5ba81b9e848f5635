// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"google.golang.org/protobuf/types/known/emptypb"

	timeapi "github.com/seed-59268b81/talos/api/time"
)

// Time compares the node's clock with the time server given, or with its own if that is "".
func (c *Client) Time(ctx context.Context, server string) (*timeapi.Time, error) {
	if server == "" {
		return call(ctx, "time", c.Clock.Time, &emptypb.Empty{})
	}

	return call(ctx, "time of "+server, c.Clock.TimeCheck, &timeapi.TimeRequest{Server: server})
}
