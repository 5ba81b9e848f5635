// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"github.com/containerd/cgroups/v3/cgroup2/stats"
	containers "github.com/containerd/containerd/api/services/containers/v1"
	tasks "github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/api/types"
	"github.com/containerd/containerd/api/types/task"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
)

// taskServer serves the containers of one namespace.
type taskServer struct {
	tasks.UnimplementedTasksServer

	mu      sync.Mutex
	status  map[string]task.Status
	signals []string
	ended   chan struct{}
}

func serveTasks(t *testing.T) (*taskServer, string) {
	t.Helper()

	f := &taskServer{status: map[string]task.Status{"etcd": task.Status_RUNNING, "old": task.Status_STOPPED}, ended: make(chan struct{})}
	g := grpc.NewServer()
	containers.RegisterContainersServer(g, containerList{})
	tasks.RegisterTasksServer(g, f)

	socket := filepath.Join(t.TempDir(), "containerd.sock")

	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}

	go g.Serve(l) // it ends with the test

	t.Cleanup(g.Stop)

	return f, socket
}

func inNamespace(ctx context.Context) bool {
	md, _ := metadata.FromIncomingContext(ctx)

	return md.Get(namespaces.GRPCHeader)[0] == "system"
}

// containerList implements the other service.
type containerList struct {
	containers.UnimplementedContainersServer
}

func (containerList) List(ctx context.Context, _ *containers.ListContainersRequest) (*containers.ListContainersResponse, error) {
	if !inNamespace(ctx) {
		return &containers.ListContainersResponse{}, nil
	}

	return &containers.ListContainersResponse{Containers: []*containers.Container{{ID: "old", Image: "i:0"}, {ID: "etcd", Image: "i:1"}}}, nil
}

func (f *taskServer) List(ctx context.Context, _ *tasks.ListTasksRequest) (*tasks.ListTasksResponse, error) {
	r := &tasks.ListTasksResponse{}

	f.mu.Lock()
	defer f.mu.Unlock()

	for id, s := range f.status {
		if inNamespace(ctx) {
			r.Tasks = append(r.Tasks, &task.Process{ContainerID: id, Pid: 7, Status: s})
		}
	}

	return r, nil
}

func (f *taskServer) Metrics(context.Context, *tasks.MetricsRequest) (*tasks.MetricsResponse, error) {
	data, err := anypb.New(&stats.Metrics{Memory: &stats.MemoryStat{Usage: 100}, CPU: &stats.CPUStat{UsageUsec: 3}})

	return &tasks.MetricsResponse{Metrics: []*types.Metric{{ID: "etcd", Data: data}}}, err
}

func (f *taskServer) Kill(_ context.Context, r *tasks.KillRequest) (*emptypb.Empty, error) {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.signals = append(f.signals, fmt.Sprint(r.GetContainerID(), " ", unix.Signal(r.GetSignal())))
	f.status[r.GetContainerID()] = task.Status_STOPPED

	close(f.ended)

	return &emptypb.Empty{}, nil
}

func (f *taskServer) Wait(ctx context.Context, _ *tasks.WaitRequest) (*tasks.WaitResponse, error) {
	select {
	case <-f.ended:
		return &tasks.WaitResponse{}, nil
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

func TestContainers(t *testing.T) {
	b := newBench(t)
	fake, socket := serveTasks(t)
	b.Containerd = socket

	r, err := b.machine.Containers(as(t.Context(), contract.RoleReader), &machine.ContainersRequest{})
	if err != nil {
		t.Fatal(err)
	}

	want := []*machine.ContainerInfo{
		{Namespace: "system", Id: "etcd", InternalId: "etcd", Image: "i:1", Pid: 7, Status: "RUNNING", PodId: "etcd", Name: "etcd"},
		{Namespace: "system", Id: "old", InternalId: "old", Image: "i:0", Status: "STOPPED", PodId: "old", Name: "old"},
	}
	if d := cmp.Diff(want, r.GetMessages()[0].GetContainers(), protocmp.Transform()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}

	if r, err := b.machine.Containers(as(t.Context(), contract.RoleReader), &machine.ContainersRequest{Namespace: "k8s.io"}); err != nil || len(r.GetMessages()[0].GetContainers()) != 0 {
		t.Errorf("another namespace: got %v, %v", r, err)
	}

	st, err := b.machine.Stats(as(t.Context(), contract.RoleReader), &machine.StatsRequest{Namespace: "system"})
	if err != nil {
		t.Fatal(err)
	}

	if d := cmp.Diff([]*machine.Stat{{Namespace: "system", Id: "etcd", MemoryUsage: 100, CpuUsage: 3000, PodId: "etcd", Name: "etcd"}},
		st.GetMessages()[0].GetStats(), protocmp.Transform()); d != "" {
		t.Errorf("statistics (-want +got):\n%s", d)
	}

	for id, code := range map[string]codes.Code{"": codes.InvalidArgument, "none": codes.NotFound, "old": codes.FailedPrecondition} {
		if _, err := b.machine.Restart(as(t.Context(), contract.RoleOperator), &machine.RestartRequest{Id: id}); status.Code(err) != code {
			t.Errorf("restart %q: got %v, want %v", id, err, code)
		}
	}

	if _, err := b.machine.Restart(as(t.Context(), contract.RoleOperator), &machine.RestartRequest{Namespace: "system", Id: "etcd"}); err != nil {
		t.Fatal(err)
	}

	if d := cmp.Diff([]string{"etcd terminated"}, fake.signals); d != "" {
		t.Errorf("signals (-want +got):\n%s", d)
	}
}

func TestContainersWithoutContainerd(t *testing.T) {
	b := newBench(t)
	b.Containerd = filepath.Join(t.TempDir(), "none.sock")

	if _, err := b.machine.Containers(as(t.Context(), contract.RoleReader), &machine.ContainersRequest{}); status.Code(err) != codes.Unavailable {
		t.Errorf("got %v", err)
	}
}
