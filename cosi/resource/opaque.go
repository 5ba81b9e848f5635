// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"bytes"
	"sync/atomic"
)

// RawSpec is a spec as it came: both forms, neither interpreted.
type RawSpec struct {
	Proto []byte
	YAML  string
}

// Opaque is a resource of a type that this program does not know, or does not care to decode. It passes
// through unchanged.
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

// ProtoSpec returns the protobuf form as it came.
func (o *Opaque) ProtoSpec() ([]byte, error) { return o.raw.Proto, nil }

// YAMLSpec returns the YAML form as it came.
func (o *Opaque) YAMLSpec() (string, error) { return o.raw.YAML, nil }

func (o *Opaque) cache() *atomic.Pointer[encoded] { return &o.encoded }
