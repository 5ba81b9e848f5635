// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/seed-59268b81/talos/api/machine"
)

// GenerateClientConfiguration has a control plane node make a client certificate with the roles, valid for ttl.
func (c *Client) GenerateClientConfiguration(ctx context.Context, roles []string, ttl time.Duration) (*machine.GenerateClientConfiguration, error) {
	r, err := c.Machine.GenerateClientConfiguration(ctx, &machine.GenerateClientConfigurationRequest{Roles: roles, CrtTtl: durationpb.New(ttl)})

	return unwrap("generate client configuration", r, err)
}
