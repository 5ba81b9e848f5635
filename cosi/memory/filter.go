// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"regexp"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// filter selects resources of a kind; the zero filter selects all.
type filter struct {
	labels []resource.LabelQuery
	id     *regexp.Regexp
}

func (f *filter) all() bool { return len(f.labels) == 0 && f.id == nil }

func (f *filter) matches(r resource.Resource) bool {
	md := r.Metadata()

	return (f.id == nil || f.id.MatchString(md.ID())) && resource.MatchAnyQuery(f.labels, md.Labels())
}

// apply turns a change of the kind into the change of the selection; false if the selection does not change.
func (f *filter) apply(e *state.Event) bool {
	if f.all() {
		return true
	}

	now := f.matches(e.Resource)

	if e.Type != state.Updated {
		return now
	}

	before := e.Old != nil && f.matches(e.Old)

	switch {
	case before && now:
	case before:
		e.Type, e.Old = state.Destroyed, nil
	case now:
		e.Type, e.Old = state.Created, nil
	}

	return before || now
}
