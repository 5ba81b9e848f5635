// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"strconv"

	"google.golang.org/grpc/metadata"
)

// WithNode has calls made with the context served by that node: the endpoint forwards them. Without it the endpoint
// serves them itself.
func WithNode(ctx context.Context, node string) context.Context {
	return with(ctx, "node", node)
}

// WithBoot has Logs, LogNames and Dmesg show an earlier boot of the node: -1 is the one before this, and so on.
func WithBoot(ctx context.Context, boot int) context.Context {
	return with(ctx, "talos-boot", strconv.Itoa(boot))
}

func with(ctx context.Context, key, value string) context.Context {
	md, _ := metadata.FromOutgoingContext(ctx)
	md = md.Copy()

	if md == nil {
		md = metadata.MD{}
	}

	md.Set(key, value)

	return metadata.NewOutgoingContext(ctx, md)
}
