// SPDX-License-Identifier: Apache-2.0

package clienttest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
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
}

// nodeKey is the key of the node in the context of a call.
type nodeKey struct{}

// enter adds the node to the context of a call. It is a tap.ServerInHandle.
func (r routes) enter(ctx context.Context, _ *tap.Info) (context.Context, error) {
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

	return context.WithValue(ctx, nodeKey{}, n), n.reachable()
}

func nodeOf(ctx context.Context) *Node { return ctx.Value(nodeKey{}).(*Node) }

func (machineServer) Version(ctx context.Context, _ *emptypb.Empty) (*machine.VersionResponse, error) {
	n := nodeOf(ctx)

	v := &machine.Version{Version: n.Version, Features: &machine.FeaturesInfo{Rbac: true}}

	return &machine.VersionResponse{Messages: []*machine.Version{v}}, nil
}

func (machineServer) ApplyConfiguration(ctx context.Context, request *machine.ApplyConfigurationRequest) (*machine.ApplyConfigurationResponse, error) {
	n := nodeOf(ctx)

	if !bytes.Contains(request.GetData(), []byte("version: v1alpha1")) {
		return nil, status.Error(codes.InvalidArgument, "configuration: document 1: version is not v1alpha1")
	}

	n.mu.Lock()
	defer n.mu.Unlock()

	n.applied = request
	md, _ := metadata.FromIncomingContext(ctx)
	n.appliedFrom = md.Get(contract.KeyConfigFrom)
	n.appliedCommit = md.Get(contract.KeyCommit)
	m := &machine.ApplyConfiguration{Warnings: n.Warnings, Mode: request.GetMode(), ModeDetails: "Applied configuration without a reboot"}

	return &machine.ApplyConfigurationResponse{Messages: []*machine.ApplyConfiguration{m}}, nil
}

func (machineServer) Bootstrap(ctx context.Context, _ *machine.BootstrapRequest) (*machine.BootstrapResponse, error) {
	n := nodeOf(ctx)

	n.mu.Lock()
	defer n.mu.Unlock()

	if n.bootstrapped {
		return nil, status.Error(codes.AlreadyExists, "etcd data directory is not empty")
	}

	n.bootstrapped = true

	return &machine.BootstrapResponse{Messages: []*machine.Bootstrap{{}}}, nil
}

func (machineServer) ServiceList(ctx context.Context, _ *emptypb.Empty) (*machine.ServiceListResponse, error) {
	n := nodeOf(ctx)

	return &machine.ServiceListResponse{Messages: []*machine.ServiceList{{Services: n.Services}}}, nil
}

func (machineServer) ServiceRestart(ctx context.Context, request *machine.ServiceRestartRequest) (*machine.ServiceRestartResponse, error) {
	n := nodeOf(ctx)

	for _, service := range n.Services {
		if service.GetId() == request.GetId() {
			m := &machine.ServiceRestart{Resp: `Service "` + request.GetId() + `" restarted`}

			return &machine.ServiceRestartResponse{Messages: []*machine.ServiceRestart{m}}, nil
		}
	}

	return nil, status.Errorf(codes.NotFound, "service %q is not registered", request.GetId())
}

func (machineServer) Memory(ctx context.Context, _ *emptypb.Empty) (*machine.MemoryResponse, error) {
	n := nodeOf(ctx)

	return &machine.MemoryResponse{Messages: []*machine.Memory{{Meminfo: n.Memory}}}, nil
}

func (machineServer) Reboot(ctx context.Context, _ *machine.RebootRequest) (*machine.RebootResponse, error) {
	n := nodeOf(ctx)

	n.restart(restartTime)

	return &machine.RebootResponse{Messages: []*machine.Reboot{{ActorId: "actor-reboot"}}}, nil
}

func (machineServer) Shutdown(ctx context.Context, _ *machine.ShutdownRequest) (*machine.ShutdownResponse, error) {
	n := nodeOf(ctx)

	n.restart(0)

	return &machine.ShutdownResponse{Messages: []*machine.Shutdown{{ActorId: "actor-shutdown"}}}, nil
}

func (machineServer) Logs(request *machine.LogsRequest, stream grpc.ServerStreamingServer[common.Data]) error {
	n := nodeOf(stream.Context())

	text, ok := n.Logs[request.GetNamespace()+"/"+request.GetId()]
	if !ok {
		return status.Errorf(codes.NotFound, "no log of %q in namespace %q", request.GetId(), request.GetNamespace())
	}

	if lines := strings.SplitAfter(text, "\n"); request.GetTailLines() >= 0 {
		text = strings.Join(lines[max(0, len(lines)-1-int(request.GetTailLines())):], "")
	}

	return sendChunks(stream, text, request.GetFollow())
}

func (machineServer) Dmesg(request *machine.DmesgRequest, stream grpc.ServerStreamingServer[common.Data]) error {
	n := nodeOf(stream.Context())

	return sendChunks(stream, n.Dmesg, request.GetFollow())
}

func (machineServer) Kubeconfig(_ *emptypb.Empty, stream grpc.ServerStreamingServer[common.Data]) error {
	n := nodeOf(stream.Context())

	var b bytes.Buffer

	zip := gzip.NewWriter(&b)
	archive := tar.NewWriter(zip)
	header := &tar.Header{Typeflag: tar.TypeReg, Name: "kubeconfig", Size: int64(len(n.Kubeconfig)), Mode: 0o600}

	err := archive.WriteHeader(header)
	_, writeErr := archive.Write([]byte(n.Kubeconfig))

	if err := errors.Join(err, writeErr, archive.Close(), zip.Close()); err != nil {
		return err
	}

	return sendChunks(stream, b.String(), false)
}

// sendChunks sends the text in chunks that do not end with a line.
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

func (machineServer) Events(request *machine.EventsRequest, stream grpc.ServerStreamingServer[machine.Event]) error {
	n := nodeOf(stream.Context())

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

func (machineServer) HealthCheck(_ *cluster.HealthCheckRequest, stream grpc.ServerStreamingServer[cluster.HealthCheckProgress]) error {
	n := nodeOf(stream.Context())

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
