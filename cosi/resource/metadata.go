// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"slices"
	"strconv"
	"time"
	"unique"
)

// Phase of a resource's life.
type Phase uint8

// The phases.
const (
	PhaseRunning Phase = iota
	PhaseTearingDown
)

// String returns the wire form: running or tearingDown.
func (p Phase) String() string {
	if p == PhaseTearingDown {
		return "tearingDown"
	}

	return "running"
}

// Metadata is the identity and the state of a resource. The zero version is undefined; a state assigns 1 on create and adds
// one at each update. Created and updated are wall-clock times, and are ignored by Equal.
//
// It is small, 64 bytes, because a store keeps one for each version. Kind and owner, which repeat, are interned. The parts
// that most resources do not have (finalizers, labels, annotations) are behind one pointer.
type Metadata struct {
	kind             unique.Handle[Kind]
	id               string
	owner            unique.Handle[string] // the zero handle is the empty owner
	created, updated int64                 // Unix nanoseconds, 0 = unset
	extra            *extra                // shared by copies: replaced, never changed
	bits             uint64                // version << 2 | tearing down << 1 | sealed
}

// extra has the parts that most resources do not have.
type extra struct {
	finalizers  []string
	labels      KeyValues
	annotations KeyValues
}

const (
	bitSealed      = 1
	bitTearingDown = 2
	versionShift   = 2

	// MaxVersion is the highest version that Metadata can carry.
	MaxVersion = 1<<(64-versionShift) - 1
)

var noExtra extra

// NewMetadata returns the metadata of a running resource with an undefined version.
func NewMetadata(namespace, typ, id string) Metadata {
	return Metadata{kind: unique.Make(Kind{Namespace: namespace, Type: typ}), id: id}
}

// Namespace of the resource.
func (m *Metadata) Namespace() string { return m.Kind().Namespace }

// Type of the resource, such as AddressStatuses.net.talos.dev.
func (m *Metadata) Type() string { return m.Kind().Type }

// ID of the resource, unique in its kind.
func (m *Metadata) ID() string { return m.id }

// Owner is the name of the controller that created the resource, empty for none.
func (m *Metadata) Owner() string {
	if m.owner == (unique.Handle[string]{}) {
		return ""
	}

	return m.owner.Value()
}

// Version counts the updates since creation; 0 is undefined.
func (m *Metadata) Version() uint64 { return m.bits >> versionShift }

// VersionString is the wire form of the version: a decimal, or undefined.
func (m *Metadata) VersionString() string {
	if m.Version() == 0 {
		return "undefined"
	}

	return strconv.FormatUint(m.Version(), 10)
}

// Phase of the resource.
func (m *Metadata) Phase() Phase {
	if m.bits&bitTearingDown != 0 {
		return PhaseTearingDown
	}

	return PhaseRunning
}

// Created is when the resource was created.
func (m *Metadata) Created() time.Time { return fromNanos(m.created) }

// Updated is when the resource was last updated.
func (m *Metadata) Updated() time.Time { return fromNanos(m.updated) }

func (m *Metadata) rare() *extra {
	if m.extra == nil {
		return &noExtra
	}

	return m.extra
}

// Finalizers in the order they were added; read-only.
func (m *Metadata) Finalizers() []string { return m.rare().finalizers }

// HasFinalizer reports whether the finalizer is present.
func (m *Metadata) HasFinalizer(f string) bool { return slices.Contains(m.Finalizers(), f) }

// Labels of the resource; immutable.
func (m *Metadata) Labels() KeyValues { return m.rare().labels }

// Annotations of the resource; immutable.
func (m *Metadata) Annotations() KeyValues { return m.rare().annotations }

// Pointer returns the address.
func (m *Metadata) Pointer() Pointer { return m.Kind().Pointer(m.id) }

// address prints the address. It is not inlined into functions that are compiled for each type.
//
//go:noinline
func (m *Metadata) address() string { return m.Pointer().String() }

// Kind returns the kind.
func (m *Metadata) Kind() Kind {
	if m.kind == (unique.Handle[Kind]{}) {
		return Kind{}
	}

	return m.kind.Value()
}

// String prints type(namespace/id@version).
func (m *Metadata) String() string {
	return m.Type() + "(" + m.Namespace() + "/" + m.id + "@" + m.VersionString() + ")"
}

// Copy returns an unsealed copy.
func (m *Metadata) Copy() Metadata {
	c := *m
	c.bits &^= bitSealed

	return c
}

// Seal forbids further change. States seal what they store.
func (m *Metadata) Seal() {
	if !m.Sealed() { // no write to sealed metadata, which goroutines may share
		m.bits |= bitSealed
	}
}

// Sealed reports whether the metadata is immutable.
func (m *Metadata) Sealed() bool { return m.bits&bitSealed != 0 }

func (m *Metadata) mutable() {
	if m.Sealed() {
		panic("resource: change of a sealed version of " + m.String() + ": work on a copy (Modify, Update or DeepCopy)")
	}
}

// Equal compares everything but the times; finalizers compare as a set.
func (m *Metadata) Equal(o *Metadata) bool {
	if m.bits&^bitSealed != o.bits&^bitSealed || m.owner != o.owner || m.id != o.id || m.Kind() != o.Kind() {
		return false
	}

	if m.extra == o.extra {
		return true
	}

	a, b := m.rare(), o.rare()

	return equalSets(a.finalizers, b.finalizers) &&
		slices.Equal(a.labels.pairs, b.labels.pairs) && slices.Equal(a.annotations.pairs, b.annotations.pairs)
}

// SameLife reports whether both have the same time of creation, or one of them has none.
func (m *Metadata) SameLife(o *Metadata) bool {
	return m.created == o.created || m.created == 0 || o.created == 0
}

func equalSets(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}

	for _, s := range a {
		if !slices.Contains(b, s) {
			return false
		}
	}

	return true
}

func toNanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}

	return t.UnixNano()
}

func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}

	return time.Unix(0, n)
}
