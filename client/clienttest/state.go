// SPDX-License-Identifier: Apache-2.0

package clienttest

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cosi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
)

// stateServer serves cosi.resource.State.
type stateServer struct {
	cosi.UnimplementedStateServer
	routes
}

func (s *stateServer) Get(ctx context.Context, request *cosi.GetRequest) (*cosi.GetResponse, error) {
	n, err := s.node(ctx)
	if err != nil {
		return nil, err
	}

	for _, found := range n.resources(request.GetNamespace(), request.GetType()) {
		if found.GetMetadata().GetId() == request.GetId() {
			return &cosi.GetResponse{Resource: found}, nil
		}
	}

	return nil, status.Errorf(codes.NotFound, "resource %s(%s/%s) doesn't exist", request.GetType(), request.GetNamespace(), request.GetId())
}

func (s *stateServer) List(request *cosi.ListRequest, stream grpc.ServerStreamingServer[cosi.ListResponse]) error {
	n, err := s.node(stream.Context())
	if err != nil {
		return err
	}

	for _, found := range n.resources(request.GetNamespace(), request.GetType()) {
		if err := stream.Send(&cosi.ListResponse{Resource: found}); err != nil {
			return err
		}
	}

	return nil
}

// Watch sends what is there, then the node's changes, and then loses the connection, so that tests of a watch end.
func (s *stateServer) Watch(request *cosi.WatchRequest, stream grpc.ServerStreamingServer[cosi.WatchResponse]) error {
	n, err := s.node(stream.Context())
	if err != nil {
		return err
	}

	// The first message says that the watch has begun.
	if err := stream.Send(&cosi.WatchResponse{}); err != nil {
		return err
	}

	wanted := func(r *cosi.Resource) bool {
		md := r.GetMetadata()

		return md.GetNamespace() == request.GetNamespace() && md.GetType() == request.GetType() &&
			(request.Id == nil || md.GetId() == request.GetId())
	}

	var events []*cosi.Event

	if request.Id != nil || request.GetOptions().GetBootstrapContents() {
		for _, found := range n.resources(request.GetNamespace(), request.GetType()) {
			if wanted(found) {
				events = append(events, &cosi.Event{EventType: cosi.EventType_CREATED, Resource: found})
			}
		}
	}

	if request.GetOptions().GetBootstrapContents() {
		events = append(events, &cosi.Event{EventType: cosi.EventType_BOOTSTRAPPED, Resource: &cosi.Resource{}})
	}

	for _, event := range n.Changes {
		if event.GetEventType() == cosi.EventType_ERRORED || wanted(event.GetResource()) {
			events = append(events, event)
		}
	}

	for _, event := range events {
		if err := stream.Send(&cosi.WatchResponse{Event: []*cosi.Event{event}}); err != nil {
			return err
		}
	}

	return status.Error(codes.Unavailable, "the node goes down")
}
