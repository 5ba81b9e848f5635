// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"strconv"

	"google.golang.org/grpc/metadata"
)

// bootKey is the metadata key that selects an earlier boot. Nodes of older versions ignore it.
const bootKey = "talos-boot"

// WithBoot makes Logs, LogNames and Dmesg return an earlier boot of the node: -1 is the previous one, and so on, as the boots
// resources number them. 0 is the current boot.
func WithBoot(ctx context.Context, boot int) context.Context {
	if boot == 0 {
		return ctx
	}

	return metadata.AppendToOutgoingContext(ctx, bootKey, strconv.Itoa(boot))
}
