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
		r, err := c.Clock.Time(ctx, &emptypb.Empty{})

		return unwrap("time", r, err)
	}

	r, err := c.Clock.TimeCheck(ctx, &timeapi.TimeRequest{Server: server})

	return unwrap("time of "+server, r, err)
}
