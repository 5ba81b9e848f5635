// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"google.golang.org/grpc/metadata"

	"github.com/seed-59268b81/talos/api/contract"
)

// WithNode returns a context whose calls the endpoint forwards to the node. Without it the endpoint serves them itself.
func WithNode(ctx context.Context, node string) context.Context {
	md, _ := metadata.FromOutgoingContext(ctx)
	md = md.Copy() // never nil
	md.Set(contract.KeyNode, node)

	return metadata.NewOutgoingContext(ctx, md)
}
