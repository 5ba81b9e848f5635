// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/seed-59268b81/talos/cosi/resource/protoenc"
)

// rawResource is a cosi.resource.Resource.
type rawResource struct {
	Metadata *RawMetadata `protobuf:"1"`
	Spec     *RawSpec     `protobuf:"2"`
}

// RawMetadata is a cosi.resource.Metadata: version and phase are text.
type RawMetadata struct {
	Namespace   string            `protobuf:"1"`
	Type        string            `protobuf:"2"`
	ID          string            `protobuf:"3"`
	Version     string            `protobuf:"4"`
	Owner       string            `protobuf:"5"`
	Phase       string            `protobuf:"6"`
	Created     time.Time         `protobuf:"7"`
	Updated     time.Time         `protobuf:"8"`
	Finalizers  []string          `protobuf:"9"`
	Labels      map[string]string `protobuf:"10"`
	Annotations map[string]string `protobuf:"11"`
}

// Metadata parses the version and the phase. A time that Metadata cannot hold becomes the zero time.
func (r *RawMetadata) Metadata() (Metadata, error) {
	md := NewMetadata(r.Namespace, r.Type, r.ID)
	md.SetOwner(r.Owner)
	md.SetCreated(storable(r.Created))
	md.SetUpdated(storable(r.Updated))

	version, err := ParseVersion(r.Version)
	if err != nil {
		return md, err
	}

	phase, err := ParsePhase(r.Phase)
	if err != nil {
		return md, err
	}

	md.SetVersion(version)
	md.SetPhase(phase)
	md.AddFinalizer(r.Finalizers...)

	if len(r.Labels)+len(r.Annotations) > 0 {
		md.edit(func(e *extra) { e.labels, e.annotations = KeyValuesOf(r.Labels), KeyValuesOf(r.Annotations) })
	}

	return md, nil
}

// storable returns t, or the zero time if t does not fit into nanoseconds since 1970, which end in 2262.
func storable(t time.Time) time.Time {
	if t.Year() < 1700 || t.Year() > 2200 {
		return time.Time{}
	}

	return t
}

// UnmarshalWire reads a cosi.resource.Resource. A type that is not registered, or every type if opaque is
// set, becomes an Opaque.
func UnmarshalWire(b []byte, opaque bool) (Resource, error) {
	var raw rawResource
	if err := protoenc.Unmarshal(b, &raw); err != nil {
		return nil, fmt.Errorf("malformed message: %w", err)
	}

	if raw.Metadata == nil || raw.Spec == nil {
		return nil, errors.New("resource without metadata or spec")
	}

	md, err := raw.Metadata.Metadata()
	if err != nil {
		return nil, err
	}

	return FromRaw(md, *raw.Spec, opaque)
}

// FromRaw builds a resource from its parts. A type that is not registered, or every type if opaque is set,
// becomes an Opaque.
func FromRaw(md Metadata, raw RawSpec, opaque bool) (Resource, error) {
	if e := lookup(md.Type()); e != nil && !opaque {
		return decode(md, raw.Proto, e.empty)
	}

	return NewOpaque(md, raw), nil
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
