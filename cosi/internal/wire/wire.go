// SPDX-License-Identifier: Apache-2.0

// Package wire reads resources from the messages of the State API, for the server and the client.
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
	raw := resource.RawMetadata{
		Namespace: in.GetNamespace(), Type: in.GetType(), ID: in.GetId(), Version: in.GetVersion(), Owner: in.GetOwner(), Phase: in.GetPhase(),
		Created: timeOf(in.GetCreated()), Updated: timeOf(in.GetUpdated()),
		Finalizers: in.GetFinalizers(), Labels: in.GetLabels(), Annotations: in.GetAnnotations(),
	}

	md, err := raw.Metadata()
	if err != nil {
		return md, fmt.Errorf("metadata of %s: %w", md.Pointer(), err)
	}

	return md, nil
}

// timeOf returns a time of a message; a time that is not valid becomes the zero time.
func timeOf(ts *timestamppb.Timestamp) time.Time {
	if !ts.IsValid() {
		return time.Time{}
	}

	return ts.AsTime()
}
