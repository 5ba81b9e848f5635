// SPDX-License-Identifier: Apache-2.0

package clienttest

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
)

// stateServer serves cosi.resource.State.
type stateServer struct {
	cosiapi.UnimplementedStateServer
}

func (stateServer) Get(ctx context.Context, request *cosiapi.GetRequest) (*cosiapi.GetResponse, error) {
	n := nodeOf(ctx)

	for _, found := range n.resources(request.GetNamespace(), request.GetType()) {
		if found.GetMetadata().GetId() == request.GetId() {
			return &cosiapi.GetResponse{Resource: found}, nil
		}
	}

	return nil, status.Errorf(codes.NotFound, "resource %s(%s/%s) doesn't exist", request.GetType(), request.GetNamespace(), request.GetId())
}

func (stateServer) List(request *cosiapi.ListRequest, stream grpc.ServerStreamingServer[cosiapi.ListResponse]) error {
	n := nodeOf(stream.Context())

	for _, found := range n.resources(request.GetNamespace(), request.GetType()) {
		if err := stream.Send(&cosiapi.ListResponse{Resource: found}); err != nil {
			return err
		}
	}

	return nil
}

// Watch sends the resources, then the node's changes, and then fails with Unavailable, so that tests of a watch end.
func (stateServer) Watch(request *cosiapi.WatchRequest, stream grpc.ServerStreamingServer[cosiapi.WatchResponse]) error {
	n := nodeOf(stream.Context())

	// The first message confirms the watch.
	if err := stream.Send(&cosiapi.WatchResponse{}); err != nil {
		return err
	}

	wanted := func(r *cosiapi.Resource) bool {
		md := r.GetMetadata()

		return md.GetNamespace() == request.GetNamespace() && md.GetType() == request.GetType() &&
			(request.Id == nil || md.GetId() == request.GetId())
	}

	var events []*cosiapi.Event

	if request.Id != nil || request.GetOptions().GetBootstrapContents() {
		for _, found := range n.resources(request.GetNamespace(), request.GetType()) {
			if wanted(found) {
				events = append(events, &cosiapi.Event{EventType: cosiapi.EventType_CREATED, Resource: found})
			}
		}
	}

	if request.GetOptions().GetBootstrapContents() {
		events = append(events, &cosiapi.Event{EventType: cosiapi.EventType_BOOTSTRAPPED, Resource: &cosiapi.Resource{}})
	}

	for _, event := range n.Changes {
		if event.GetEventType() == cosiapi.EventType_ERRORED || wanted(event.GetResource()) {
			events = append(events, event)
		}
	}

	for _, event := range events {
		if err := stream.Send(&cosiapi.WatchResponse{Event: []*cosiapi.Event{event}}); err != nil {
			return err
		}
	}

	return status.Error(codes.Unavailable, "the node goes down")
}
