// SPDX-License-Identifier: Apache-2.0

// Package plan tells what lies between two configurations, before anything is done.
//
// It is pure: dry runs, the answer to an apply and, later, the trial of a configuration all ask the same
// question. Compare gives the text difference that a person reads and the list of changed paths that a
// program reads.
package plan

import (
	"maps"
	"reflect"
	"slices"

	"github.com/aymanbagabas/go-udiff"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/effects"
)

// Plan is what changes between two configurations.
type Plan struct {
	// Diff is a unified diff of the texts, "" when they are the same.
	Diff string
	// Changed lists the paths whose values differ, with list indices; a path in a document with a kind
	// starts with that kind.
	Changed []string
	// InVain lists those of Changed that have no effect in this version.
	InVain []string
}

// Empty tells whether nothing at all changes, comments included.
func (p Plan) Empty() bool { return p.Diff == "" }

// Compare tells what changes from one configuration to another; nil stands for no configuration.
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

// Diff is the unified diff of two texts.
func Diff(from, to []byte) string {
	return udiff.Unified("a", "b", string(from), string(to))
}

func text(cfg *config.Config) []byte {
	if cfg == nil {
		return nil
	}

	return cfg.Bytes()
}
