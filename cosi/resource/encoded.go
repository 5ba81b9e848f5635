// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// encoded is the wire form of one immutable version. It is encoded once for all readers of about the same time (see
// recentEncodings). The frame is cosi.resource.Resource in field 1 of an enclosing message, with tag and length, because
// every answer and every event has it in field 1. spec is the cosi.resource.Spec within the frame; it is kept for a next
// version with the same spec.
type encoded struct {
	frame []byte
	spec  []byte
	used  atomic.Bool // since it was encoded or last kept
}

func (e *encoded) size() int { return max(len(e.frame), len(e.spec)) }

// inheritSpec passes the encoded spec of r to the next version, which has the same spec.
func inheritSpec(to *atomic.Pointer[encoded], r cacher) {
	if e := r.cache().Load(); e != nil {
		recent.keep(to, &encoded{spec: e.spec})
	}
}

type cacher interface {
	cache() *atomic.Pointer[encoded]
}

type protoSpecer interface{ ProtoSpec() ([]byte, error) }

type yamlSpecer interface{ YAMLSpec() (string, error) }

// The fields of cosi.resource.Resource, Metadata and Spec.
const (
	fieldFrame = 1

	fieldMetadata = 1
	fieldSpec     = 2

	fieldProtoSpec = 1
	fieldYAMLSpec  = 2

	fieldNamespace   = 1
	fieldType        = 2
	fieldID          = 3
	fieldVersion     = 4
	fieldOwner       = 5
	fieldPhase       = 6
	fieldCreated     = 7
	fieldUpdated     = 8
	fieldFinalizers  = 9
	fieldLabels      = 10
	fieldAnnotations = 11
)

// WireFrame returns the resource as a cosi.resource.Resource with both forms of the spec, in field 1 of an
// enclosing message. The bytes of an immutable version are shared: do not change them.
func WireFrame(r Resource) ([]byte, error) {
	c, cached := r.(cacher)
	cached = cached && r.Metadata().Sealed()

	var known *encoded

	if cached {
		if known = c.cache().Load(); known != nil && known.frame != nil {
			if !known.used.Load() {
				known.used.Store(true)
			}

			return known.frame, nil
		}
	}

	var spec []byte

	if known != nil {
		spec = known.spec
	} else {
		var err error
		if spec, err = appendSpec(nil, r, true); err != nil {
			return nil, err
		}
	}

	body, err := appendResource(nil, r.Metadata(), spec)
	if err != nil {
		return nil, err
	}

	frame := make([]byte, 0, len(body)+protowire.SizeTag(fieldFrame)+protowire.SizeVarint(uint64(len(body))))
	frame = appendLen(frame, fieldFrame, body)

	if cached {
		recent.keep(c.cache(), &encoded{frame: frame, spec: frame[len(frame)-len(spec):]})
	}

	return frame, nil
}

// MarshalWire returns the resource as a cosi.resource.Resource for storing: without the YAML form of the spec, except for an
// Opaque.
func MarshalWire(r Resource) ([]byte, error) {
	_, opaque := r.(*Opaque)

	spec, err := appendSpec(nil, r, opaque)
	if err != nil {
		return nil, err
	}

	return appendResource(nil, r.Metadata(), spec)
}

// ProtoSpec returns the protobuf form of the spec, nil when it is empty.
func ProtoSpec(r Resource) ([]byte, error) {
	if p, ok := r.(protoSpecer); ok {
		return p.ProtoSpec()
	}

	return nil, nil
}

// YAMLSpec returns the YAML form of the spec.
func YAMLSpec(r Resource) (string, error) {
	if y, ok := r.(yamlSpecer); ok {
		return y.YAMLSpec()
	}

	return "", nil
}

func appendSpec(b []byte, r Resource, withYAML bool) ([]byte, error) {
	proto, err := ProtoSpec(r)
	if err != nil {
		return nil, fmt.Errorf("spec of %s: %w", r.Metadata(), err)
	}

	if len(proto) > 0 {
		b = appendLen(b, fieldProtoSpec, proto)
	}

	if !withYAML {
		return b, nil
	}

	text, err := YAMLSpec(r)
	if err != nil {
		return nil, fmt.Errorf("spec of %s: %w", r.Metadata(), err)
	}

	return appendText(b, fieldYAMLSpec, text)
}

func appendResource(b []byte, m *Metadata, spec []byte) ([]byte, error) {
	const most = 256 // enough for most resources

	md, err := appendMetadata(make([]byte, 0, most), m)
	if err != nil {
		return nil, fmt.Errorf("metadata of %s: %w", m, err)
	}

	b = slices.Grow(b, len(md)+len(spec)+2*(protowire.SizeTag(fieldSpec)+protowire.SizeVarint(math.MaxUint32)))

	return appendLen(appendLen(b, fieldMetadata, md), fieldSpec, spec), nil
}

func appendMetadata(b []byte, m *Metadata) ([]byte, error) {
	for _, f := range []struct {
		num   protowire.Number
		value string
	}{
		{fieldNamespace, m.Namespace()},
		{fieldType, m.Type()},
		{fieldID, m.ID()},
		{fieldVersion, m.VersionString()},
		{fieldOwner, m.Owner()},
		{fieldPhase, m.Phase().String()},
	} {
		var err error
		if b, err = appendText(b, f.num, f.value); err != nil {
			return nil, err
		}
	}

	b = appendTime(b, fieldCreated, m.created)
	b = appendTime(b, fieldUpdated, m.updated)

	for _, f := range m.Finalizers() {
		if !utf8.ValidString(f) {
			return nil, errNotText(f)
		}

		b = appendLen(b, fieldFinalizers, []byte(f))
	}

	b, err := appendPairs(b, fieldLabels, m.Labels())
	if err != nil {
		return nil, err
	}

	return appendPairs(b, fieldAnnotations, m.Annotations())
}

func appendPairs(b []byte, num protowire.Number, kv KeyValues) ([]byte, error) {
	for k, v := range kv.All() {
		entry, err := appendText(nil, 1, k)
		if err != nil {
			return nil, err
		}

		if entry, err = appendText(entry, 2, v); err != nil {
			return nil, err
		}

		b = appendLen(b, num, entry)
	}

	return b, nil
}

func appendTime(b []byte, num protowire.Number, nanos int64) []byte {
	if nanos == 0 {
		return b
	}

	var room [2 + 2*binary.MaxVarintLen64]byte

	t := time.Unix(0, nanos)
	ts := protowire.AppendVarint(protowire.AppendTag(room[:0], 1, protowire.VarintType), uint64(t.Unix()))
	ts = protowire.AppendVarint(protowire.AppendTag(ts, 2, protowire.VarintType), uint64(t.Nanosecond()))

	return appendLen(b, num, ts)
}

func appendText(b []byte, num protowire.Number, s string) ([]byte, error) {
	if s == "" {
		return b, nil
	}

	if !utf8.ValidString(s) {
		return nil, errNotText(s)
	}

	return protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), s), nil
}

func errNotText(s string) error { return fmt.Errorf("%q is not UTF-8", s) }

func appendLen(b []byte, num protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), v)
}
