// SPDX-License-Identifier: Apache-2.0

package state

import (
	"slices"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// Condition of a WatchFor. All conditions must hold for the same event.
type Condition func(Event) bool

// EventTypeIs holds for events of the types.
func EventTypeIs(types ...EventType) Condition {
	return func(e Event) bool { return slices.Contains(types, e.Type) }
}

// FinalizersEmpty holds when the resource exists and has no finalizers.
func FinalizersEmpty() Condition {
	return func(e Event) bool {
		return exists(e) && len(e.Resource.Metadata().Finalizers()) == 0
	}
}

// PhaseIs holds when the resource exists and is in one of the phases.
func PhaseIs(phases ...resource.Phase) Condition {
	return func(e Event) bool {
		return exists(e) && slices.Contains(phases, e.Resource.Metadata().Phase())
	}
}

// ResourceIs holds when the resource exists and satisfies fn.
func ResourceIs(fn func(resource.Resource) bool) Condition {
	return func(e Event) bool { return exists(e) && fn(e.Resource) }
}

// exists reports whether the resource of the event exists. An Errored event does not show that.
func exists(e Event) bool { return (e.Type == Created || e.Type == Updated) && e.Resource != nil }
