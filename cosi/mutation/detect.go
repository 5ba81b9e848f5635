// SPDX-License-Identifier: Apache-2.0

// Package mutation finds, in tests, code that writes into resources that a state shares. All readers of a state get the same
// version of a resource. Code that changes its spec changes it for all of them, without a new version and without an event.
// The metadata refuses that by itself; a spec is a plain struct and cannot.
//
//	st := mutation.Detect(t, memory.New())
//
// The detector copies each version when it is first read. It compares the version with the copy at each further read and at
// the end of the test. A difference fails the test with the resource, the field, and the readers of that version. The
// detector keeps a copy of every version and compares at each read: it is not for production.
//
// Why not write-protect the memory instead: a write would end the process, and not name the field.
package mutation

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// TB is the part of a testing.TB that Detect needs.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(fn func())
}

// Detector is a state that finds mutations of the resources that it returns.
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

// version is a version that was read.
type version struct {
	was      resource.Resource
	readers  []string
	reported bool
}

// mostReaders limits the readers of a version that a message names.
const mostReaders = 8

// Detect returns a detector around the state.
func Detect(t TB, st state.State) *Detector {
	d := &Detector{State: st, t: t, versions: map[resource.Resource]*version{}}
	t.Cleanup(d.Check)

	return d
}

// Check compares all versions that were read so far.
func (d *Detector) Check() {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()

	for now, v := range d.versions {
		d.compare(v, now)
	}
}

// note is called for each resource that a reader gets.
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
	d.t.Errorf("mutation of %s: %s: a reader wrote into the shared version instead of a copy (Modify, Update, DeepCopy); read by %s",
		now.Metadata(), diff, strings.Join(v.readers, ", "))
}
