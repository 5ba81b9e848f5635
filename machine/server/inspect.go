// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/inspect"
	"github.com/seed-59268b81/talos/cosi/runtime"
)

type inspectService struct {
	inspect.UnimplementedInspectServiceServer

	server *Server
}

// wireEdges map kinds of edges to those that clients know. An input of a queue controller is strong if the controller puts a
// finalizer on the resource.
var wireEdges = map[runtime.EdgeKind]inspect.DependencyEdgeType{
	runtime.OutputExclusive:         inspect.DependencyEdgeType_OUTPUT_EXCLUSIVE,
	runtime.OutputShared:            inspect.DependencyEdgeType_OUTPUT_SHARED,
	runtime.InputStrong:             inspect.DependencyEdgeType_INPUT_STRONG,
	runtime.InputWeak:               inspect.DependencyEdgeType_INPUT_WEAK,
	runtime.InputDestroyReady:       inspect.DependencyEdgeType_INPUT_DESTROY_READY,
	runtime.InputPrimary:            inspect.DependencyEdgeType_INPUT_STRONG,
	runtime.InputMapped:             inspect.DependencyEdgeType_INPUT_WEAK,
	runtime.InputMappedDestroyReady: inspect.DependencyEdgeType_INPUT_DESTROY_READY,
}

// ControllerRuntimeDependencies implements inspect.InspectService.
func (s *inspectService) ControllerRuntimeDependencies(context.Context, *emptypb.Empty) (*inspect.ControllerRuntimeDependenciesResponse, error) {
	if s.server.Graph == nil {
		return nil, status.Error(codes.Unavailable, "controller dependencies: the controllers are not running yet; try again")
	}

	reply := &inspect.ControllerRuntimeDependency{}

	for _, e := range s.server.Graph() {
		reply.Edges = append(reply.Edges, &inspect.ControllerDependencyEdge{
			ControllerName: e.Controller, EdgeType: wireEdges[e.Kind],
			ResourceNamespace: e.Namespace, ResourceType: e.Type, ResourceId: e.ID,
		})
	}

	return &inspect.ControllerRuntimeDependenciesResponse{Messages: []*inspect.ControllerRuntimeDependency{reply}}, nil
}
