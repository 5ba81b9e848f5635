// SPDX-License-Identifier: Apache-2.0

package state

import (
	"slices"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// Condition of a WatchFor; all must hold for one event.
type Condition func(Event) bool

// EventTypeIs holds for events of the types.
func EventTypeIs(types ...EventType) Condition {
	return func(e Event) bool { return slices.Contains(types, e.Type) }
}

// FinalizersEmpty holds when no finalizer is left on an existing resource.
func FinalizersEmpty() Condition {
	return func(e Event) bool {
		return exists(e) && len(e.Resource.Metadata().Finalizers()) == 0
	}
}

// PhaseIs holds when an existing resource is in one of the phases.
func PhaseIs(phases ...resource.Phase) Condition {
	return func(e Event) bool {
		return exists(e) && slices.Contains(phases, e.Resource.Metadata().Phase())
	}
}

// ResourceIs holds when an existing resource satisfies fn.
func ResourceIs(fn func(resource.Resource) bool) Condition {
	return func(e Event) bool { return exists(e) && fn(e.Resource) }
}

// exists tells whether the resource of the event exists; that of an Errored one says nothing.
func exists(e Event) bool { return (e.Type == Created || e.Type == Updated) && e.Resource != nil }
