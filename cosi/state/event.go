// SPDX-License-Identifier: Apache-2.0

package state

import "github.com/seed-59268b81/talos/cosi/resource"

// EventType is the type of an event. The numbers are those of the wire.
type EventType uint8

// The event types.
const (
	Created EventType = iota
	Updated
	Destroyed
	Bootstrapped
	Errored
	Noop
)

// Event of a watch. Resources in it are immutable.
type Event struct {
	Resource resource.Resource
	// Old is the previous version; only in Updated.
	Old resource.Resource
	// Error is the reason why the watch ended; only in Errored.
	Error    error
	Bookmark Bookmark
	Type     EventType
}

// Bookmark is an opaque position in the history of a kind.
type Bookmark []byte

// String returns the type in lower case.
func (t EventType) String() string {
	names := [...]string{"created", "updated", "destroyed", "bootstrapped", "errored", "noop"}
	if int(t) >= len(names) {
		return "unknown"
	}

	return names[t]
}
