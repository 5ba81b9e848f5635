// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"bytes"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/seed-59268b81/talos/cosi/resource/protoenc"
)

// For states: they store resources that callers have created.

// isolater is implemented by resources that can be isolated in place.
type isolater interface {
	isolate(was Resource) (same bool)
}

// Isolate makes next, a changed copy of was, independent of the code that changed it. If the specs are equal, next gets the
// spec of was, which versions share; otherwise the spec is copied. Isolate returns the resource to store, and whether it
// differs from was. was is nil for a new resource.
func Isolate(next, was Resource) (r Resource, changed bool) {
	var same bool

	switch i, ok := next.(isolater); {
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
	if !ok || !r.equal(o) {
		r.spec = copySpec(r.spec).(*S)

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

// The checks below refuse text that is not UTF-8: such a resource could be stored but never sent.

// CheckAddress checks the parts that no later version changes: namespace, type, id and owner.
func CheckAddress(m *Metadata) error {
	for _, s := range [...]string{m.Namespace(), m.Type(), m.id, m.Owner()} {
		if !utf8.ValidString(s) {
			return fmt.Errorf("metadata of %s: %w", m, errNotText(s))
		}
	}

	return nil
}

// inspector is implemented by resources that know the size of their spec.
type inspector interface {
	inspect(was Resource) (int, error)
}

// Inspect checks the other parts, and estimates the memory that a version does not share with was, the previous version. was
// may be nil.
func Inspect(next, was Resource) (size int, err error) {
	const resourceSize = 96 // a Typed

	md := next.Metadata()
	size = resourceSize

	if md.extra != nil && (was == nil || was.Metadata().extra != md.extra) {
		n, err := md.extra.inspect()
		if err != nil {
			return 0, fmt.Errorf("metadata of %s: %w", md, err)
		}

		size += n
	}

	if i, ok := next.(inspector); ok {
		n, err := i.inspect(was)
		if err != nil {
			return 0, fmt.Errorf("spec of %s: %w", md, err)
		}

		size += n
	}

	return size, nil
}

func (e *extra) inspect() (size int, err error) {
	const (
		extraSize = 72
		pairSize  = 32
		textSize  = 16
	)

	size = extraSize + textSize*len(e.finalizers) + pairSize*(len(e.labels.pairs)+len(e.annotations.pairs))

	for _, f := range e.finalizers {
		if size += len(f); !utf8.ValidString(f) {
			return 0, errNotText(f)
		}
	}

	for _, pairs := range [...][]pair{e.labels.pairs, e.annotations.pairs} {
		for i := range pairs {
			p := &pairs[i]
			size += len(p.key) + len(p.value)

			if !utf8.ValidString(p.key) || !utf8.ValidString(p.value) {
				return 0, errNotText(p.key + ": " + p.value)
			}
		}
	}

	return size, nil
}

func (r *Typed[S]) inspect(was Resource) (int, error) {
	if o, ok := was.(*Typed[S]); ok && o.spec == r.spec {
		return 0, nil
	}

	return inspectSpec(r.spec)
}

// inspectSpec gets a pointer to a spec.
func inspectSpec(spec any) (int, error) {
	t := reflect.TypeOf(spec).Elem()

	switch {
	case t.Size() == 0:
		return 0, nil
	case t.Kind() != reflect.Struct || t.NumField() == 0 || protoenc.Check(t) != nil:
		return int(t.Size()), nil // a type that never leaves this process
	default:
		return protoenc.Inspect(spec)
	}
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
