// SPDX-License-Identifier: Apache-2.0

// Package mutation finds, in tests, who writes into what a state shares. A resource that came out of a state is one
// version that all readers have: who changes its spec changes it for everybody, without a new version and without an
// event. The metadata refuses that by itself; a spec is a plain struct and can not.
//
//	st := mutation.Detect(t, memory.New())
//
// What comes out of st is compared, whenever it comes out again and at the end of the test, with what it was when it came
// out first. A difference fails the test, and names the resource, the field, and who had read that version. It costs a copy
// of every version and a comparison at each read, and holds all of them: it is not for programs.
//
// Why not seal the memory instead: a page that can not be written ends the process, and names no field.
package mutation

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// TB is the part of a testing.TB that is needed.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(fn func())
}

// Detector is a state that finds mutations of what comes out of it.
type Detector struct {
	state.State

	t        TB
	mu       sync.Mutex
	versions map[resource.Resource]*version
}

var (
	_ state.State    = (*Detector)(nil)
	_ state.Notifier = (*Detector)(nil)
)

// version is one that came out.
type version struct {
	was      resource.Resource
	readers  []string
	reported bool
}

// mostReaders of a version are named.
const mostReaders = 8

// Detect returns the state with a detector around it.
func Detect(t TB, st state.State) *Detector {
	d := &Detector{State: st, t: t, versions: map[resource.Resource]*version{}}
	t.Cleanup(d.Check)

	return d
}

// Check compares all that came out until now.
func (d *Detector) Check() {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()

	for now, v := range d.versions {
		d.compare(v, now)
	}
}

// note is called for what goes out to a reader.
func (d *Detector) note(r resource.Resource, reader string) {
	if r == nil || r.Spec() == nil || reflect.TypeOf(r).Kind() != reflect.Pointer {
		return
	}

	d.mu.Lock()
	defer d.mu.Unlock()

	v := d.versions[r]
	if v == nil {
		v = &version{was: r.DeepCopy()}
		d.versions[r] = v
	} else {
		d.compare(v, r)
	}

	if len(v.readers) < mostReaders && !slices.Contains(v.readers, reader) {
		v.readers = append(v.readers, reader)
	}
}

func (d *Detector) noteEvent(ev *state.Event, reader string) {
	d.note(ev.Resource, reader)
	d.note(ev.Old, reader)
}

func (d *Detector) compare(v *version, now resource.Resource) {
	d.t.Helper()

	if v.reported {
		return
	}

	diff := difference("spec", reflect.ValueOf(v.was.Spec()), reflect.ValueOf(now.Spec()))
	if diff == "" && !v.was.Metadata().Equal(now.Metadata()) {
		diff = "the metadata differ"
	}

	if diff == "" {
		return
	}

	v.reported = true
	d.t.Errorf("mutation of %s: %s: somebody wrote into the version that all readers share, instead of a copy (Modify, Update, DeepCopy); read by %s",
		now.Metadata(), diff, strings.Join(v.readers, ", "))
}
