// SPDX-License-Identifier: Apache-2.0

// Package wire reads resources out of the messages of the State API, for the server and the client alike.
package wire

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/cosi/resource"
)

// ResourceOf reads a resource. A type that is not registered, or every type if opaque is set, stays undecoded.
func ResourceOf(in *v1alpha1.Resource, opaque bool) (resource.Resource, error) {
	if in.GetMetadata() == nil {
		return nil, errors.New("the resource has no metadata")
	}

	md, err := MetadataOf(in.GetMetadata())
	if err != nil {
		return nil, err
	}

	return resource.FromRaw(md, resource.RawSpec{Proto: in.GetSpec().GetProtoSpec(), YAML: in.GetSpec().GetYamlSpec()}, opaque)
}

// MetadataOf reads the metadata of a resource.
func MetadataOf(in *v1alpha1.Metadata) (resource.Metadata, error) {
	md := resource.NewMetadata(in.GetNamespace(), in.GetType(), in.GetId())

	version, err := resource.ParseVersion(in.GetVersion())
	if err != nil {
		return md, fmt.Errorf("metadata of %s: %w", md.Pointer(), err)
	}

	phase, err := resource.ParsePhase(in.GetPhase())
	if err != nil {
		return md, fmt.Errorf("metadata of %s: %w", md.Pointer(), err)
	}

	md.SetVersion(version)
	md.SetPhase(phase)
	md.SetOwner(in.GetOwner())
	md.SetCreated(timeOf(in.GetCreated()))
	md.SetUpdated(timeOf(in.GetUpdated()))
	md.SetLabels(resource.KeyValuesOf(in.GetLabels()))
	md.SetAnnotations(resource.KeyValuesOf(in.GetAnnotations()))

	for _, f := range in.GetFinalizers() {
		md.AddFinalizer(f)
	}

	return md, nil
}

// timeOf reads a time that the store does not need to believe: one out of range is none.
func timeOf(ts *timestamppb.Timestamp) time.Time {
	if ts == nil || !ts.IsValid() {
		return time.Time{}
	}

	t := ts.AsTime()
	if t.Year() < 1700 || t.Year() > 2200 { // nanoseconds since 1970 end in 2262
		return time.Time{}
	}

	return t
}
