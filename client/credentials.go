// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/seed-59268b81/talos/api/machine"
)

// GenerateClientConfiguration makes a control plane node issue a client certificate with the roles, valid for ttl.
func (c *Client) GenerateClientConfiguration(ctx context.Context, roles []string, ttl time.Duration) (*machine.GenerateClientConfiguration, error) {
	return call(ctx, "generate client configuration", c.Machine.GenerateClientConfiguration, &machine.GenerateClientConfigurationRequest{Roles: roles, CrtTtl: durationpb.New(ttl)})
}
