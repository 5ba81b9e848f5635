// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"slices"

	"google.golang.org/grpc/metadata"
)

// Extensions of the protocol. A client lists those that it accepts in the metadata of a call. Other servers ignore the list.
const (
	acceptKey = "cosi-accept"

	// Progress is Noop events in a watch that had no other event for a long time.
	Progress = "progress"
	// LargeMessages is messages up to MaxMessage.
	LargeMessages = "large-messages"
)

const (
	// DefaultMessage is the message size that every client accepts, in bytes.
	DefaultMessage = 4 << 20
	// MaxMessage is the message size that our clients accept: two versions of a resource in both forms.
	MaxMessage = 64 << 20
)

// Accepting returns a context for calls of a client that accepts the extensions.
func Accepting(ctx context.Context, extensions ...string) context.Context {
	for _, extension := range extensions {
		ctx = metadata.AppendToOutgoingContext(ctx, acceptKey, extension)
	}

	return ctx
}

// Accepts reports whether the client of a call accepts the extension.
func Accepts(ctx context.Context, extension string) bool {
	return slices.Contains(metadata.ValueFromIncomingContext(ctx, acceptKey), extension)
}
