// SPDX-License-Identifier: Apache-2.0

package clienttest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/cluster"
	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
)

// restartTime is how long a node is down when it reboots.
const restartTime = 100 * time.Millisecond

// routes finds the node that a call names.
type routes map[string]*Node

// machineServer serves machine.MachineService and cluster.ClusterService.
type machineServer struct {
	machine.UnimplementedMachineServiceServer
	cluster.UnimplementedClusterServiceServer
	routes
}

func (r routes) node(ctx context.Context) (*Node, error) {
	var name string

	md, _ := metadata.FromIncomingContext(ctx)

	switch names := md.Get(contract.KeyNode); len(names) {
	case 0:
	case 1:
		name = names[0]
	default:
		return nil, status.Error(codes.InvalidArgument, "more than one node in a call")
	}

	n, ok := r[name]
	if !ok {
		return nil, status.Errorf(codes.Unavailable, "no route to node %q", name)
	}

	return n, n.reachable()
}

func (s *machineServer) Version(ctx context.Context, _ *emptypb.Empty) (*machine.VersionResponse, error) {
	n, err := s.node(ctx)
	if err != nil {
		return nil, err
	}

	v := &machine.Version{Version: n.Version, Features: &machine.FeaturesInfo{Rbac: true}}

	return &machine.VersionResponse{Messages: []*machine.Version{v}}, nil
}

func (s *machineServer) ApplyConfiguration(ctx context.Context, request *machine.ApplyConfigurationRequest) (*machine.ApplyConfigurationResponse, error) {
	n, err := s.node(ctx)
	if err != nil {
		return nil, err
	}

	if !bytes.Contains(request.GetData(), []byte("version: v1alpha1")) {
		return nil, status.Error(codes.InvalidArgument, "configuration: document 1: version is not v1alpha1")
	}

	n.mu.Lock()
	defer n.mu.Unlock()

	n.applied = request
	m := &machine.ApplyConfiguration{Warnings: n.Warnings, Mode: request.GetMode(), ModeDetails: "Applied configuration without a reboot"}

	return &machine.ApplyConfigurationResponse{Messages: []*machine.ApplyConfiguration{m}}, nil
}

func (s *machineServer) Bootstrap(ctx context.Context, _ *machine.BootstrapRequest) (*machine.BootstrapResponse, error) {
	n, err := s.node(ctx)
	if err != nil {
		return nil, err
	}

	n.mu.Lock()
	defer n.mu.Unlock()

	if n.bootstrapped {
		return nil, status.Error(codes.AlreadyExists, "etcd data directory is not empty")
	}

	n.bootstrapped = true

	return &machine.BootstrapResponse{Messages: []*machine.Bootstrap{{}}}, nil
}

func (s *machineServer) ServiceList(ctx context.Context, _ *emptypb.Empty) (*machine.ServiceListResponse, error) {
	n, err := s.node(ctx)
	if err != nil {
		return nil, err
	}

	return &machine.ServiceListResponse{Messages: []*machine.ServiceList{{Services: n.Services}}}, nil
}

func (s *machineServer) ServiceRestart(ctx context.Context, request *machine.ServiceRestartRequest) (*machine.ServiceRestartResponse, error) {
	n, err := s.node(ctx)
	if err != nil {
		return nil, err
	}

	for _, service := range n.Services {
		if service.GetId() == request.GetId() {
			m := &machine.ServiceRestart{Resp: `Service "` + request.GetId() + `" restarted`}

			return &machine.ServiceRestartResponse{Messages: []*machine.ServiceRestart{m}}, nil
		}
	}

	return nil, status.Errorf(codes.NotFound, "service %q is not registered", request.GetId())
}

func (s *machineServer) Memory(ctx context.Context, _ *emptypb.Empty) (*machine.MemoryResponse, error) {
	n, err := s.node(ctx)
	if err != nil {
		return nil, err
	}

	return &machine.MemoryResponse{Messages: []*machine.Memory{{Meminfo: n.Memory}}}, nil
}

func (s *machineServer) Reboot(ctx context.Context, _ *machine.RebootRequest) (*machine.RebootResponse, error) {
	n, err := s.node(ctx)
	if err != nil {
		return nil, err
	}

	n.restart(restartTime)

	return &machine.RebootResponse{Messages: []*machine.Reboot{{ActorId: "actor-reboot"}}}, nil
}

func (s *machineServer) Shutdown(ctx context.Context, _ *machine.ShutdownRequest) (*machine.ShutdownResponse, error) {
	n, err := s.node(ctx)
	if err != nil {
		return nil, err
	}

	n.restart(0)

	return &machine.ShutdownResponse{Messages: []*machine.Shutdown{{ActorId: "actor-shutdown"}}}, nil
}

func (s *machineServer) Logs(request *machine.LogsRequest, stream grpc.ServerStreamingServer[common.Data]) error {
	n, err := s.node(stream.Context())
	if err != nil {
		return err
	}

	text, ok := n.Logs[request.GetNamespace()+"/"+request.GetId()]
	if !ok {
		return status.Errorf(codes.NotFound, "no log of %q in namespace %q", request.GetId(), request.GetNamespace())
	}

	if lines := strings.SplitAfter(text, "\n"); request.GetTailLines() >= 0 {
		text = strings.Join(lines[max(0, len(lines)-1-int(request.GetTailLines())):], "")
	}

	return sendChunks(stream, text, request.GetFollow())
}

func (s *machineServer) Dmesg(request *machine.DmesgRequest, stream grpc.ServerStreamingServer[common.Data]) error {
	n, err := s.node(stream.Context())
	if err != nil {
		return err
	}

	return sendChunks(stream, n.Dmesg, request.GetFollow())
}

func (s *machineServer) Kubeconfig(_ *emptypb.Empty, stream grpc.ServerStreamingServer[common.Data]) error {
	n, err := s.node(stream.Context())
	if err != nil {
		return err
	}

	var b bytes.Buffer

	zip := gzip.NewWriter(&b)
	archive := tar.NewWriter(zip)
	header := &tar.Header{Typeflag: tar.TypeReg, Name: "kubeconfig", Size: int64(len(n.Kubeconfig)), Mode: 0o600}

	if err := archive.WriteHeader(header); err != nil {
		return err
	}

	if _, err := archive.Write([]byte(n.Kubeconfig)); err != nil {
		return err
	}

	if err := archive.Close(); err != nil {
		return err
	}

	if err := zip.Close(); err != nil {
		return err
	}

	return sendChunks(stream, b.String(), false)
}

// sendChunks cuts the text at places that are not ends of lines.
func sendChunks(stream grpc.ServerStreamingServer[common.Data], text string, follow bool) error {
	const size = 10

	for len(text) > 0 {
		chunk := text[:min(size, len(text))]
		text = text[len(chunk):]

		if err := stream.Send(&common.Data{Bytes: []byte(chunk)}); err != nil {
			return err
		}
	}

	if follow {
		<-stream.Context().Done()

		return stream.Context().Err()
	}

	return nil
}

func (s *machineServer) Events(request *machine.EventsRequest, stream grpc.ServerStreamingServer[machine.Event]) error {
	n, err := s.node(stream.Context())
	if err != nil {
		return err
	}

	if err := stream.Send(&machine.Event{}); err != nil {
		return err
	}

	events := n.Events
	if tail := int(request.GetTailEvents()); tail >= 0 {
		events = events[max(0, len(events)-tail):]
	}

	for _, event := range events {
		if actor := request.GetWithActorId(); actor != "" && actor != event.GetActorId() {
			continue
		}

		if err := stream.Send(event); err != nil {
			return err
		}
	}

	n.eventsRead()

	return status.Error(codes.Unavailable, "the node goes down")
}

func (s *machineServer) HealthCheck(_ *cluster.HealthCheckRequest, stream grpc.ServerStreamingServer[cluster.HealthCheckProgress]) error {
	n, err := s.node(stream.Context())
	if err != nil {
		return err
	}

	for _, message := range n.Health {
		if err := stream.Send(&cluster.HealthCheckProgress{Message: message}); err != nil {
			return err
		}
	}

	if !n.Healthy {
		return status.Error(codes.DeadlineExceeded, "etcd is not healthy")
	}

	return nil
}
