// SPDX-License-Identifier: Apache-2.0

// Package plan compares two configurations. It has no side effects: dry runs and the responses to apply requests
// use it. Compare returns a diff of the texts for people, and the list of changed paths for programs.
package plan

import (
	"maps"
	"reflect"
	"slices"

	"github.com/aymanbagabas/go-udiff"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/effects"
)

// Plan is the difference between two configurations.
type Plan struct {
	// Diff is a unified diff of the texts, "" if they are the same.
	Diff string
	// Changed lists the paths whose values differ, with list indices. A path in a document with a kind
	// starts with the kind.
	Changed []string
	// InVain lists those of Changed that have no effect in this version.
	InVain []string
}

// Empty reports whether the texts are the same, including comments.
func (p Plan) Empty() bool { return p.Diff == "" }

// Compare returns the difference between two configurations. Either may be nil.
func Compare(from, to *config.Config) Plan {
	before, after := effects.Leaves(from), effects.Leaves(to)
	plan := Plan{Diff: Diff(text(from), text(to))}

	all := maps.Clone(before)
	maps.Copy(all, after)

	for _, path := range slices.Sorted(maps.Keys(all)) {
		old, had := before[path]
		now, has := after[path]

		if had == has && reflect.DeepEqual(old.Value, now.Value) {
			continue
		}

		plan.Changed = append(plan.Changed, path)

		if _, effective := effects.Lookup(all[path].Key); !effective {
			plan.InVain = append(plan.InVain, path)
		}
	}

	return plan
}

// Diff returns the unified diff of two texts.
func Diff(from, to []byte) string {
	return udiff.Unified("a", "b", string(from), string(to))
}

func text(cfg *config.Config) []byte {
	if cfg == nil {
		return nil
	}

	return cfg.Bytes()
}
