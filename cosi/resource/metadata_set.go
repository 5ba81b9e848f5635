// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"slices"
	"time"
	"unique"
)

// SetVersion is for states and codecs. Versions above MaxVersion panic.
func (m *Metadata) SetVersion(v uint64) {
	m.mutable()

	if v > MaxVersion {
		panic("resource: version of " + m.Pointer().String() + " is out of range")
	}

	m.bits = v<<versionShift | m.bits&(1<<versionShift-1)
}

// SetOwner is for states and codecs.
func (m *Metadata) SetOwner(owner string) {
	m.mutable()

	m.owner = unique.Handle[string]{}
	if owner != "" {
		m.owner = unique.Make(owner)
	}
}

// SetPhase is for states and codecs.
func (m *Metadata) SetPhase(p Phase) {
	m.mutable()

	m.bits &^= bitTearingDown
	if p == PhaseTearingDown {
		m.bits |= bitTearingDown
	}
}

// SetCreated is for states and codecs.
func (m *Metadata) SetCreated(t time.Time) { m.mutable(); m.created = toNanos(t) }

// SetUpdated is for states and codecs.
func (m *Metadata) SetUpdated(t time.Time) { m.mutable(); m.updated = toNanos(t) }

// Begin sets the metadata of the first version, created at a time in Unix nanoseconds. A time of update that is set already
// stays. It is for states.
func (m *Metadata) Begin(owner string, created int64) {
	m.SetVersion(1)
	m.SetOwner(owner)

	m.created = created
	if m.updated == 0 {
		m.updated = created
	}
}

// Succeed sets the metadata of the next version after was, updated at a time in Unix nanoseconds, and seals it. It is for
// states.
func (m *Metadata) Succeed(was *Metadata, updated int64) {
	m.SetVersion(was.Version() + 1)
	m.owner, m.created, m.updated = was.owner, was.created, updated
	m.bits |= bitSealed
}

// TakeOver copies the fields that a state has set in the stored version: version, owner and times.
func (m *Metadata) TakeOver(stored *Metadata) {
	m.mutable()

	m.bits = stored.bits&^(1<<versionShift-1) | m.bits&(1<<versionShift-1)
	m.owner, m.created, m.updated = stored.owner, stored.created, stored.updated
}

// edit changes a private copy of the extra part.
func (m *Metadata) edit(change func(*extra)) {
	m.mutable()

	e := *m.rare()
	change(&e)

	m.extra = &e
	if len(e.finalizers) == 0 && e.labels.Len() == 0 && e.annotations.Len() == 0 {
		m.extra = nil
	}
}

// AddFinalizer adds finalizers and reports whether one of them was absent.
func (m *Metadata) AddFinalizer(finalizers ...string) bool {
	m.mutable()

	before := len(m.Finalizers())

	for _, f := range finalizers {
		if !m.HasFinalizer(f) {
			m.edit(func(e *extra) { e.finalizers = append(slices.Clip(e.finalizers), f) })
		}
	}

	return len(m.Finalizers()) > before
}

// RemoveFinalizer removes finalizers and reports whether one of them was present.
func (m *Metadata) RemoveFinalizer(finalizers ...string) bool {
	m.mutable()

	before := len(m.Finalizers())

	for _, f := range finalizers {
		if i := slices.Index(m.Finalizers(), f); i >= 0 {
			m.edit(func(e *extra) { e.finalizers = slices.Concat(e.finalizers[:i], e.finalizers[i+1:]) })
		}
	}

	return len(m.Finalizers()) < before
}

// SetLabel sets one label.
func (m *Metadata) SetLabel(key, value string) {
	m.edit(func(e *extra) { e.labels = e.labels.With(key, value) })
}

// DeleteLabel removes one label.
func (m *Metadata) DeleteLabel(key string) {
	m.edit(func(e *extra) { e.labels = e.labels.Without(key) })
}

// SetLabels replaces all labels.
func (m *Metadata) SetLabels(kv KeyValues) { m.edit(func(e *extra) { e.labels = kv }) }

// SetAnnotation sets one annotation.
func (m *Metadata) SetAnnotation(key, value string) {
	m.edit(func(e *extra) { e.annotations = e.annotations.With(key, value) })
}

// DeleteAnnotation removes one annotation.
func (m *Metadata) DeleteAnnotation(key string) {
	m.edit(func(e *extra) { e.annotations = e.annotations.Without(key) })
}

// SetAnnotations replaces all annotations.
func (m *Metadata) SetAnnotations(kv KeyValues) { m.edit(func(e *extra) { e.annotations = kv }) }
