// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"slices"

	"google.golang.org/grpc/metadata"
)

// What the protocol does not require of every client, a client tells that it accepts, in the metadata of the call.
// Servers that do not know of it do without.
const (
	acceptKey = "cosi-accept"

	// Progress is Noop events in a watch by which nothing else came for long.
	Progress = "progress"
	// LargeMessages is messages up to MaxMessage.
	LargeMessages = "large-messages"
)

const (
	// DefaultMessage is how long the messages are, at most, that any client takes.
	DefaultMessage = 4 << 20
	// MaxMessage is how long those are that our clients take: two versions of a resource in both forms.
	MaxMessage = 64 << 20
)

// Accepting returns a context for calls by a client that accepts the things.
func Accepting(ctx context.Context, things ...string) context.Context {
	for _, thing := range things {
		ctx = metadata.AppendToOutgoingContext(ctx, acceptKey, thing)
	}

	return ctx
}

// Accepts tells whether the client of a call accepts the thing.
func Accepts(ctx context.Context, thing string) bool {
	return slices.Contains(metadata.ValueFromIncomingContext(ctx, acceptKey), thing)
}
