// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"cmp"
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/service/container"
)

// Containers implements machine.MachineService. Whatever the driver in the request, pods' containers are listed through
// containerd: its labels have all that the kubelet's interface would report.
func (s *Server) Containers(ctx context.Context, req *machine.ContainersRequest) (*machine.ContainersResponse, error) {
	all, err := inventory(s, func(i *container.Inventory) ([]container.Listed, error) {
		return i.List(ctx, cmp.Or(req.GetNamespace(), container.NamespaceSystem))
	})
	if err != nil {
		return nil, containerdError("containers", err)
	}

	reply := &machine.Container{}

	for _, c := range all {
		reply.Containers = append(reply.Containers, &machine.ContainerInfo{
			Namespace: c.Namespace, Id: c.ID, Uid: c.PodUID, InternalId: c.InternalID, Image: c.Image, Pid: c.PID, Status: c.Status,
			PodId: c.PodID, Name: c.Name, NetworkNamespace: c.NetworkNamespace,
		})
	}

	return &machine.ContainersResponse{Messages: []*machine.Container{reply}}, nil
}

// Stats implements machine.MachineService. Memory is in bytes, CPU in nanoseconds.
func (s *Server) Stats(ctx context.Context, req *machine.StatsRequest) (*machine.StatsResponse, error) {
	all, err := inventory(s, func(i *container.Inventory) ([]container.Usage, error) {
		return i.Usage(ctx, cmp.Or(req.GetNamespace(), container.NamespaceSystem))
	})
	if err != nil {
		return nil, containerdError("container statistics", err)
	}

	reply := &machine.Stats{}

	for _, c := range all {
		reply.Stats = append(reply.Stats, &machine.Stat{
			Namespace: c.Namespace, Id: c.ID, MemoryUsage: c.Memory, CpuUsage: uint64(c.CPU.Nanoseconds()), PodId: c.PodID, Name: c.Name,
		})
	}

	return &machine.StatsResponse{Messages: []*machine.Stats{reply}}, nil
}

// Restart implements machine.MachineService. It returns when the container has ended; its owner, the system or the kubelet,
// starts it again.
func (s *Server) Restart(ctx context.Context, req *machine.RestartRequest) (*machine.RestartResponse, error) {
	if req.GetId() == "" {
		return nil, status.Error(codes.InvalidArgument, "restart: name the container")
	}

	_, err := inventory(s, func(i *container.Inventory) (struct{}, error) {
		return struct{}{}, i.Restart(ctx, cmp.Or(req.GetNamespace(), container.NamespaceSystem), req.GetId())
	})
	if err != nil {
		return nil, containerdError("restart", err)
	}

	return &machine.RestartResponse{Messages: []*machine.Restart{{}}}, nil
}

// inventory calls fn with a connection to containerd.
func inventory[T any](s *Server, fn func(*container.Inventory) (T, error)) (T, error) {
	i, err := container.OpenInventory(cmp.Or(s.Containerd, layout.ContainerdSocket))
	if err != nil {
		var none T

		return none, err
	}
	defer i.Close()

	return fn(i)
}
