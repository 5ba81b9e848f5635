// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"bytes"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/seed-59268b81/talos/cosi/resource/protoenc"
)

// For states: what is taken over from a caller.

// Isolate makes next, a changed copy of was, independent of whoever changed it: a spec that says the same becomes was's
// own, which versions share, and another one is copied. It returns what to store, and whether anything differs at all. A
// new resource has no was.
func Isolate(next, was Resource) (r Resource, changed bool) {
	var same bool

	switch i, ok := next.(interface{ isolate(Resource) bool }); {
	case ok:
		r, same = next, i.isolate(was)
	case was != nil && EqualSpec(was, next):
		r, same = was.WithMetadata(next.Metadata().Copy()), true
	default:
		r = next.DeepCopy()
	}

	return r, !same || !was.Metadata().Equal(r.Metadata())
}

func (r *Typed[S]) isolate(was Resource) bool {
	o, ok := was.(*Typed[S])
	if !ok || !r.EqualSpec(o) {
		r.spec = copySpec(r.spec)

		return false
	}

	r.spec = o.spec
	inheritSpec(&r.encoded, o)

	return true
}

func (o *Opaque) isolate(was Resource) bool {
	p, ok := was.(*Opaque)
	if !ok || !o.EqualSpec(p) {
		o.raw.Proto = bytes.Clone(o.raw.Proto)

		return false
	}

	o.raw = p.raw

	return true
}

// Inspect returns about how much memory a version takes of its own, when the one before was was (nil for a new resource).
// Text that is not UTF-8 is an error: such a resource could be stored and never be sent.
func Inspect(next, was Resource) (size int, err error) {
	size, err = next.Metadata().inspect(was)
	if err != nil {
		return 0, fmt.Errorf("metadata of %s: %w", next.Metadata(), err)
	}

	i, ok := next.(interface{ inspect(Resource) (int, error) })
	if !ok {
		return size, nil
	}

	spec, err := i.inspect(was)
	if err != nil {
		return 0, fmt.Errorf("spec of %s: %w", next.Metadata(), err)
	}

	return size + spec, nil
}

// inspect does not look again at what the version before had too.
func (m *Metadata) inspect(was Resource) (size int, err error) {
	const (
		resourceSize = 96 // a Typed
		extraSize    = 72
		pairSize     = 32
		textSize     = 16
	)

	size = resourceSize

	check := func(s string) {
		if size += len(s); err == nil && !utf8.ValidString(s) {
			err = errNotText(s)
		}
	}

	if was == nil {
		for _, s := range [...]string{m.Namespace(), m.Type(), m.id, m.Owner()} {
			check(s)
		}
	}

	if m.extra == nil || was != nil && was.Metadata().extra == m.extra {
		return size, err
	}

	size += extraSize

	for _, f := range m.extra.finalizers {
		size += textSize
		check(f)
	}

	for _, pairs := range [...][]pair{m.extra.labels.pairs, m.extra.annotations.pairs} {
		for _, p := range pairs {
			size += pairSize
			check(p.key)
			check(p.value)
		}
	}

	return size, err
}

func (r *Typed[S]) inspect(was Resource) (int, error) {
	if o, ok := was.(*Typed[S]); ok && o.spec == r.spec {
		return 0, nil
	}

	t := reflect.TypeFor[S]()
	if t.Kind() != reflect.Struct || t.NumField() == 0 || protoenc.Check(t) != nil {
		return int(t.Size()), nil // a type that never leaves this process
	}

	return protoenc.Inspect(r.spec)
}

func (o *Opaque) inspect(was Resource) (int, error) {
	if p, ok := was.(*Opaque); ok && len(o.raw.Proto)+len(o.raw.YAML) > 0 && sameMemory(o.raw.Proto, p.raw.Proto) && o.raw.YAML == p.raw.YAML {
		return 0, nil
	}

	if !utf8.ValidString(o.raw.YAML) {
		return 0, errNotText(o.raw.YAML)
	}

	return len(o.raw.Proto) + len(o.raw.YAML), nil
}

func sameMemory(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
