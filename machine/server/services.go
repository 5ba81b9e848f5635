// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/service/supervisor"
)

// ServiceList implements machine.MachineService.
func (s *Server) ServiceList(context.Context, *emptypb.Empty) (*machine.ServiceListResponse, error) {
	list := &machine.ServiceList{}

	for _, st := range s.Supervisor.List() {
		list.Services = append(list.Services, serviceInfo(st))
	}

	return &machine.ServiceListResponse{Messages: []*machine.ServiceList{list}}, nil
}

func serviceInfo(st supervisor.Status) *machine.ServiceInfo {
	events := &machine.ServiceEvents{}
	for _, e := range st.Events {
		events.Events = append(events.Events, &machine.ServiceEvent{
			Msg: e.Message, State: string(e.State), Ts: timestamppb.New(e.Time),
		})
	}

	health := &machine.ServiceHealth{
		Unknown: !st.HasHealth || !st.Health.Known, Healthy: st.Health.Healthy, LastMessage: st.Health.LastMessage,
	}
	if !st.Health.LastChange.IsZero() {
		health.LastChange = timestamppb.New(st.Health.LastChange)
	}

	return &machine.ServiceInfo{Id: st.ID, State: string(st.State), Events: events, Health: health}
}

// ServiceStart implements machine.MachineService.
func (s *Server) ServiceStart(_ context.Context, req *machine.ServiceStartRequest) (*machine.ServiceStartResponse, error) {
	if err := s.Supervisor.Start(req.GetId()); err != nil {
		return nil, serviceError(err)
	}

	return &machine.ServiceStartResponse{Messages: []*machine.ServiceStart{{Resp: "Service \"" + req.GetId() + "\" started"}}}, nil
}

// ServiceStop implements machine.MachineService.
func (s *Server) ServiceStop(ctx context.Context, req *machine.ServiceStopRequest) (*machine.ServiceStopResponse, error) {
	if err := s.Supervisor.Stop(ctx, req.GetId()); err != nil {
		return nil, serviceError(err)
	}

	return &machine.ServiceStopResponse{Messages: []*machine.ServiceStop{{Resp: "Service \"" + req.GetId() + "\" stopped"}}}, nil
}

// ServiceRestart implements machine.MachineService.
func (s *Server) ServiceRestart(ctx context.Context, req *machine.ServiceRestartRequest) (*machine.ServiceRestartResponse, error) {
	if err := s.Supervisor.Restart(ctx, req.GetId()); err != nil {
		return nil, serviceError(err)
	}

	return &machine.ServiceRestartResponse{Messages: []*machine.ServiceRestart{{Resp: "Service \"" + req.GetId() + "\" restarted"}}}, nil
}

func serviceError(err error) error {
	switch {
	case errors.Is(err, supervisor.ErrUnknown):
		return status.Error(codes.NotFound, err.Error())
	case errors.Is(err, supervisor.ErrNotAllowed):
		return status.Error(codes.FailedPrecondition, err.Error())
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return status.FromContextError(err).Err()
	default:
		return status.Error(codes.Internal, err.Error())
	}
}
