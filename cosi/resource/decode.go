// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// UnmarshalWire reads a cosi.resource.Resource. A type that is not registered, or every type if opaque is
// set, becomes an Opaque.
func UnmarshalWire(b []byte, opaque bool) (Resource, error) {
	var (
		md             Metadata
		hasMD, hasSpec bool
		raw            RawSpec
	)

	err := eachField(b, func(num protowire.Number, wire protowire.Type, value []byte) (err error) {
		if wire != protowire.BytesType || num > fieldSpec {
			return nil
		}

		if num == fieldMetadata {
			hasMD = true
			md, err = decodeMetadata(value)

			return err
		}

		hasSpec = true
		raw, err = decodeSpec(value)

		return err
	})
	if err != nil {
		return nil, err
	}

	if !hasMD || !hasSpec {
		return nil, errors.New("resource without metadata or spec")
	}

	return FromRaw(md, raw, opaque)
}

// FromRaw builds a resource from its parts. A type that is not registered, or every type if opaque is set,
// becomes an Opaque.
func FromRaw(md Metadata, raw RawSpec, opaque bool) (Resource, error) {
	if e := lookup(md.Type()); e != nil && !opaque {
		return e.decode(md, raw.Proto)
	}

	return NewOpaque(md, raw), nil
}

func decodeSpec(b []byte) (raw RawSpec, err error) {
	err = eachField(b, func(num protowire.Number, wire protowire.Type, value []byte) error {
		switch {
		case wire != protowire.BytesType:
		case num == fieldProtoSpec:
			raw.Proto = append([]byte(nil), value...)
		case num == fieldYAMLSpec:
			if !utf8.Valid(value) {
				return errors.New("yaml_spec is not UTF-8")
			}

			raw.YAML = string(value)
		}

		return nil
	})

	return raw, err
}

func decodeMetadata(b []byte) (Metadata, error) {
	var (
		namespace, typ, id    string
		owner, version, phase string
		created, updated      int64
		finalizers            []string
		labels, annotations   map[string]string
		texts                 = [...]*string{fieldNamespace: &namespace, fieldType: &typ, fieldID: &id, fieldVersion: &version, fieldOwner: &owner, fieldPhase: &phase}
	)

	err := eachField(b, func(num protowire.Number, wire protowire.Type, value []byte) (err error) {
		if wire != protowire.BytesType {
			return nil
		}

		switch {
		case num <= fieldPhase:
			*texts[num], err = textOf(value)
		case num == fieldCreated:
			created, err = decodeTime(value)
		case num == fieldUpdated:
			updated, err = decodeTime(value)
		case num == fieldFinalizers:
			var f string
			f, err = textOf(value)
			finalizers = append(finalizers, f)
		case num == fieldLabels:
			labels, err = decodePair(labels, value)
		case num == fieldAnnotations:
			annotations, err = decodePair(annotations, value)
		}

		if err != nil {
			return fmt.Errorf("metadata field %d: %w", num, err)
		}

		return nil
	})
	if err != nil {
		return Metadata{}, err
	}

	md := NewMetadata(namespace, typ, id)
	md.SetOwner(owner)
	md.created, md.updated = created, updated

	return md, md.restore(version, phase, finalizers, KeyValuesOf(labels), KeyValuesOf(annotations))
}

// restore sets what came as text.
func (m *Metadata) restore(version, phase string, finalizers []string, labels, annotations KeyValues) error {
	v, err := ParseVersion(version)
	if err != nil {
		return err
	}

	p, err := ParsePhase(phase)
	if err != nil {
		return err
	}

	m.SetVersion(v)
	m.SetPhase(p)

	if len(finalizers)+labels.Len()+annotations.Len() > 0 {
		m.edit(func(e *extra) { *e = extra{finalizers: finalizers, labels: labels, annotations: annotations} })
	}

	return nil
}

// ParseVersion reads a version as VersionString writes it.
func ParseVersion(s string) (uint64, error) {
	if s == "undefined" {
		return 0, nil
	}

	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil || v > MaxVersion {
		return 0, fmt.Errorf("version %q is neither undefined nor a number up to %d", s, uint64(MaxVersion))
	}

	return v, nil
}

// ParsePhase reads a phase as String writes it.
func ParsePhase(s string) (Phase, error) {
	switch s {
	case "running":
		return PhaseRunning, nil
	case "tearingDown":
		return PhaseTearingDown, nil
	default:
		return 0, fmt.Errorf("phase %q is neither running nor tearingDown", s)
	}
}

func decodeTime(b []byte) (nanos int64, err error) {
	var sec, nano int64

	err = eachField(b, func(num protowire.Number, wire protowire.Type, value []byte) error {
		if wire != protowire.VarintType {
			return nil
		}

		x, _ := protowire.ConsumeVarint(value)

		switch num {
		case 1:
			sec = int64(x)
		case 2:
			nano = int64(x)
		}

		return nil
	})
	if err != nil {
		return 0, err
	}

	// Times before 1678 and after 2262 do not fit nanoseconds; a store has written neither.
	const most = int64(1<<63-1) / int64(time.Second)
	if sec <= -most || sec >= most || nano < 0 || nano >= int64(time.Second) {
		return 0, fmt.Errorf("time %d s %d ns is out of range", sec, nano)
	}

	return sec*int64(time.Second) + nano, nil
}

func decodePair(m map[string]string, b []byte) (map[string]string, error) {
	var kv [3]string

	err := eachField(b, func(num protowire.Number, wire protowire.Type, value []byte) (err error) {
		if wire == protowire.BytesType && num <= 2 {
			kv[num], err = textOf(value)
		}

		return err
	})

	if m == nil {
		m = map[string]string{}
	}

	m[kv[1]] = kv[2]

	return m, err
}

func textOf(b []byte) (string, error) {
	if !utf8.Valid(b) {
		return "", errNotText(string(b))
	}

	return string(b), nil
}

// eachField calls fn for each field of a message; a length-delimited value comes without its length.
func eachField(b []byte, fn func(protowire.Number, protowire.Type, []byte) error) error {
	for len(b) > 0 {
		num, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("malformed message: %w", protowire.ParseError(n))
		}

		b = b[n:]

		size := protowire.ConsumeFieldValue(num, wire, b)
		if size < 0 {
			return fmt.Errorf("malformed message: field %d: %w", num, protowire.ParseError(size))
		}

		value := b[:size]
		b = b[size:]

		if wire == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}

		if err := fn(num, wire, value); err != nil {
			return err
		}
	}

	return nil
}
