// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"bytes"
	"fmt"
	"sync/atomic"
)

// RawSpec is an undecoded spec, in both forms.
type RawSpec struct {
	Proto []byte `protobuf:"1"`
	YAML  string `protobuf:"2"`
}

// Opaque is a resource with an undecoded spec: its type is not registered, or decoding was not requested. It passes through
// unchanged.
type Opaque struct {
	raw     RawSpec
	md      Metadata
	encoded atomic.Pointer[encoded]
}

// NewOpaque returns a resource around an undecoded spec.
func NewOpaque(md Metadata, raw RawSpec) *Opaque { return &Opaque{md: md, raw: raw} }

// Metadata implements Resource.
func (o *Opaque) Metadata() *Metadata { return &o.md }

// Spec implements Resource: a *RawSpec.
func (o *Opaque) Spec() any { return &o.raw }

// String prints type(namespace/id).
func (o *Opaque) String() string { return o.md.Pointer().String() }

// DeepCopy implements Resource.
func (o *Opaque) DeepCopy() Resource {
	return &Opaque{md: o.md.Copy(), raw: RawSpec{Proto: bytes.Clone(o.raw.Proto), YAML: o.raw.YAML}}
}

// WithMetadata implements Resource.
func (o *Opaque) WithMetadata(md Metadata) Resource { return &Opaque{md: md, raw: o.raw} }

// EqualSpec compares the spec with another resource's.
func (o *Opaque) EqualSpec(other Resource) bool {
	p, ok := other.(*Opaque)

	return ok && o.raw.YAML == p.raw.YAML && bytes.Equal(o.raw.Proto, p.raw.Proto)
}

// ProtoSpec returns the undecoded protobuf form.
func (o *Opaque) ProtoSpec() ([]byte, error) { return o.raw.Proto, nil }

// YAMLSpec returns the undecoded YAML form.
func (o *Opaque) YAMLSpec() (string, error) { return o.raw.YAML, nil }

// Become replaces a private copy by r, with both forms of its spec.
func (o *Opaque) Become(r Resource) (err error) {
	next := Opaque{md: r.Metadata().Copy()}

	if next.raw.Proto, err = ProtoSpec(r); err == nil {
		next.raw.YAML, err = YAMLSpec(r)
	}

	if err != nil {
		return fmt.Errorf("spec of %s: %w", r.Metadata(), err)
	}

	o.md, o.raw = next.md, next.raw

	return nil
}

// Decode returns an undecoded resource as a resource of S. The types must be equal. A sealed resource stays sealed.
func Decode[S Spec](o *Opaque) (*Typed[S], error) {
	r, err := o.decode(DefinitionOf[S]().Type, empty[S])
	if err != nil {
		return nil, err
	}

	return r.(*Typed[S]), nil // empty returns this type
}

func (o *Opaque) decode(want string, empty func(md Metadata) Resource) (Resource, error) {
	if o.md.Type() != want {
		return nil, fmt.Errorf("resource %s is not of type %s", &o.md, want)
	}

	r, err := decode(o.md.Copy(), o.raw.Proto, empty)
	if err != nil {
		return nil, err
	}

	if o.md.Sealed() {
		r.Metadata().Seal()
	}

	return r, nil
}

func (o *Opaque) cache() *atomic.Pointer[encoded] { return &o.encoded }
