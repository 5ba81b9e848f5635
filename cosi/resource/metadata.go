// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"slices"
	"strconv"
	"time"
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

// Metadata is who a resource is. The zero version is undefined; a state assigns 1 on create and adds one
// at each update. Created and updated are wall-clock times and no part of equality.
type Metadata struct {
	namespace, typ, id string
	owner              string
	version            uint64
	created, updated   int64 // Unix nanoseconds, 0 = unset
	finalizers         []string
	labels             KeyValues
	annotations        KeyValues
	phase              Phase
	sealed             bool
}

// NewMetadata returns the metadata of a running resource with an undefined version.
func NewMetadata(namespace, typ, id string) Metadata {
	return Metadata{namespace: namespace, typ: typ, id: id}
}

// Namespace of the resource.
func (m *Metadata) Namespace() string { return m.namespace }

// Type of the resource, such as AddressStatuses.net.talos.dev.
func (m *Metadata) Type() string { return m.typ }

// ID of the resource, unique in its kind.
func (m *Metadata) ID() string { return m.id }

// Owner is the name of the controller that created the resource, empty for none.
func (m *Metadata) Owner() string { return m.owner }

// Version counts the updates since creation; 0 is undefined.
func (m *Metadata) Version() uint64 { return m.version }

// VersionString is the wire form of the version: a decimal, or undefined.
func (m *Metadata) VersionString() string {
	if m.version == 0 {
		return "undefined"
	}

	return strconv.FormatUint(m.version, 10)
}

// Phase of the resource.
func (m *Metadata) Phase() Phase { return m.phase }

// Created is when the resource was created.
func (m *Metadata) Created() time.Time { return fromNanos(m.created) }

// Updated is when the resource was last updated.
func (m *Metadata) Updated() time.Time { return fromNanos(m.updated) }

// Finalizers in the order they were added; read-only.
func (m *Metadata) Finalizers() []string { return m.finalizers }

// HasFinalizer tells whether the finalizer is present.
func (m *Metadata) HasFinalizer(f string) bool { return slices.Contains(m.finalizers, f) }

// Labels of the resource; immutable.
func (m *Metadata) Labels() KeyValues { return m.labels }

// Annotations of the resource; immutable.
func (m *Metadata) Annotations() KeyValues { return m.annotations }

// Pointer returns the address.
func (m *Metadata) Pointer() Pointer { return Pointer{Namespace: m.namespace, Type: m.typ, ID: m.id} }

// Kind returns the kind.
func (m *Metadata) Kind() Kind { return Kind{Namespace: m.namespace, Type: m.typ} }

// String prints type(namespace/id@version).
func (m *Metadata) String() string {
	return m.typ + "(" + m.namespace + "/" + m.id + "@" + m.VersionString() + ")"
}

// Copy returns an unsealed copy.
func (m *Metadata) Copy() Metadata {
	c := *m
	c.sealed = false

	return c
}

// Seal forbids further change. States seal what they store.
func (m *Metadata) Seal() { m.sealed = true }

// Sealed tells whether the metadata is immutable.
func (m *Metadata) Sealed() bool { return m.sealed }

func (m *Metadata) mutable() {
	if m.sealed {
		panic("resource: change of a sealed version of " + m.String() + ": work on a copy (Modify, Update or DeepCopy)")
	}
}

// SetVersion is for states and codecs.
func (m *Metadata) SetVersion(v uint64) { m.mutable(); m.version = v }

// SetOwner is for states and codecs.
func (m *Metadata) SetOwner(owner string) { m.mutable(); m.owner = owner }

// SetPhase is for states and codecs.
func (m *Metadata) SetPhase(p Phase) { m.mutable(); m.phase = p }

// SetCreated is for states and codecs.
func (m *Metadata) SetCreated(t time.Time) { m.mutable(); m.created = toNanos(t) }

// SetUpdated is for states and codecs.
func (m *Metadata) SetUpdated(t time.Time) { m.mutable(); m.updated = toNanos(t) }

// AddFinalizer adds the finalizer and tells whether it was absent.
func (m *Metadata) AddFinalizer(f string) bool {
	m.mutable()

	if slices.Contains(m.finalizers, f) {
		return false
	}

	m.finalizers = append(slices.Clip(m.finalizers), f)

	return true
}

// RemoveFinalizer removes the finalizer and tells whether it was present.
func (m *Metadata) RemoveFinalizer(f string) bool {
	m.mutable()

	i := slices.Index(m.finalizers, f)
	if i < 0 {
		return false
	}

	m.finalizers = slices.Concat(m.finalizers[:i], m.finalizers[i+1:])

	return true
}

// SetLabel sets one label.
func (m *Metadata) SetLabel(key, value string) { m.mutable(); m.labels = m.labels.With(key, value) }

// DeleteLabel removes one label.
func (m *Metadata) DeleteLabel(key string) { m.mutable(); m.labels = m.labels.Without(key) }

// SetLabels replaces all labels.
func (m *Metadata) SetLabels(kv KeyValues) { m.mutable(); m.labels = kv }

// SetAnnotation sets one annotation.
func (m *Metadata) SetAnnotation(key, value string) {
	m.mutable()
	m.annotations = m.annotations.With(key, value)
}

// DeleteAnnotation removes one annotation.
func (m *Metadata) DeleteAnnotation(key string) {
	m.mutable()
	m.annotations = m.annotations.Without(key)
}

// SetAnnotations replaces all annotations.
func (m *Metadata) SetAnnotations(kv KeyValues) { m.mutable(); m.annotations = kv }

// Equal compares everything but the times; finalizers compare as a set.
func (m *Metadata) Equal(o *Metadata) bool {
	return m.id == o.id && m.version == o.version && m.phase == o.phase && m.owner == o.owner &&
		m.typ == o.typ && m.namespace == o.namespace &&
		equalSets(m.finalizers, o.finalizers) &&
		slices.Equal(m.labels.pairs, o.labels.pairs) && slices.Equal(m.annotations.pairs, o.annotations.pairs)
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
