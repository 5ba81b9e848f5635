// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"strconv"

	"google.golang.org/grpc/metadata"
)

// bootKey of a call's metadata names an earlier boot. A node of a version that does not know it answers for the boot that
// runs.
const bootKey = "talos-boot"

// WithBoot has Logs, LogNames and Dmesg answer for an earlier boot of the node: -1 for the one before this, and so on, as
// the resources boots number them. 0 is the boot that runs.
func WithBoot(ctx context.Context, boot int) context.Context {
	if boot == 0 {
		return ctx
	}

	return metadata.AppendToOutgoingContext(ctx, bootKey, strconv.Itoa(boot))
}
