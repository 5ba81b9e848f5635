// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"

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

	return &machine.ServiceInfo{Id: st.ID, State: string(st.State), Events: events, Health: ServiceHealth(st)}
}

// ServiceHealth returns the health of a service as clients get it.
func ServiceHealth(st supervisor.Status) *machine.ServiceHealth {
	health := &machine.ServiceHealth{
		Unknown: !st.HasHealth || !st.Health.Known, Healthy: st.Health.Healthy, LastMessage: st.Health.LastMessage,
	}
	if !st.Health.LastChange.IsZero() {
		health.LastChange = timestamppb.New(st.Health.LastChange)
	}

	return health
}

// ServiceStart implements machine.MachineService.
func (s *Server) ServiceStart(_ context.Context, req *machine.ServiceStartRequest) (*machine.ServiceStartResponse, error) {
	if err := s.Supervisor.Start(req.GetId()); err != nil {
		return nil, refused("service "+req.GetId(), err)
	}

	return &machine.ServiceStartResponse{Messages: []*machine.ServiceStart{{Resp: "Service \"" + req.GetId() + "\" started"}}}, nil
}

// ServiceStop implements machine.MachineService.
func (s *Server) ServiceStop(ctx context.Context, req *machine.ServiceStopRequest) (*machine.ServiceStopResponse, error) {
	if err := s.Supervisor.Stop(ctx, req.GetId()); err != nil {
		return nil, refused("service "+req.GetId(), err)
	}

	return &machine.ServiceStopResponse{Messages: []*machine.ServiceStop{{Resp: "Service \"" + req.GetId() + "\" stopped"}}}, nil
}

// ServiceRestart implements machine.MachineService.
func (s *Server) ServiceRestart(ctx context.Context, req *machine.ServiceRestartRequest) (*machine.ServiceRestartResponse, error) {
	if err := s.Supervisor.Restart(ctx, req.GetId()); err != nil {
		return nil, refused("service "+req.GetId(), err)
	}

	return &machine.ServiceRestartResponse{Messages: []*machine.ServiceRestart{{Resp: "Service \"" + req.GetId() + "\" restarted"}}}, nil
}
