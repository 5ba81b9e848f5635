// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"bytes"
	"context"
	"errors"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/service/bootlog"
	"github.com/seed-59268b81/talos/sys/kmsg"
	"github.com/seed-59268b81/talos/sys/platform"
)

// MetadataBoot is the metadata key that selects an earlier boot in Logs, LogsContainers and Dmesg: -1 for the previous boot,
// -2 for the one before it, as `talosctl get boots` numbers them. Without it they return the current boot.
const MetadataBoot = "talos-boot"

// bootFrom returns the boot that a call selects; 0 is the current one.
func bootFrom(ctx context.Context) (int, error) {
	md, _ := metadata.FromIncomingContext(ctx)

	values := md.Get(MetadataBoot)
	if len(values) == 0 {
		return 0, nil
	}

	boot, err := strconv.Atoi(values[0])
	if err != nil || boot > 0 || len(values) > 1 {
		return 0, status.Errorf(codes.InvalidArgument, "boot %.40q: want one number, 0 for this boot, -1 for the previous one, and so on; see: talosctl get boots", values)
	}

	return boot, nil
}

// systemNamespaces are the namespaces that select the logs of services.
var systemNamespaces = map[string]bool{"": true, "system": true}

// Logs implements machine.MachineService.
func (s *Server) Logs(req *machine.LogsRequest, stream grpc.ServerStreamingServer[common.Data]) error {
	send := func(p []byte) error { return stream.Send(&common.Data{Bytes: p}) }

	tail := int(req.GetTailLines())

	boot, err := bootFrom(stream.Context())
	if err != nil {
		return err
	}

	switch {
	case boot != 0 && !systemNamespaces[req.GetNamespace()]:
		return status.Errorf(codes.InvalidArgument, "logs of %q of boot %d: only logs of services are kept by boot; read those of pods without a boot", req.GetId(), boot)
	case boot != 0 || systemNamespaces[req.GetNamespace()] && req.GetId() == bootlog.PStore: // this boot's has what a boot without logs has left
		return s.bootLogs(stream.Context(), boot, req.GetId(), tail, req.GetFollow(), send)
	case !systemNamespaces[req.GetNamespace()]:
		return s.containerLogs(stream.Context(), req.GetId(), tail, req.GetFollow(), send)
	case !s.Outputs.Has(req.GetId()):
		return status.Errorf(codes.NotFound, "logs of %q: there is no such service; services with a log are %q", req.GetId(), s.Outputs.IDs())
	default:
		return s.Outputs.Read(stream.Context(), req.GetId(), tail, req.GetFollow(), send)
	}
}

// bootLogs sends a log of an earlier boot.
func (s *Server) bootLogs(ctx context.Context, boot int, id string, tail int, follow bool, send func([]byte) error) error {
	if follow {
		return status.Errorf(codes.InvalidArgument, "logs of %q of boot %d: the boot has ended, so there is nothing to follow", id, boot)
	}

	err := s.Journal.Read(ctx, boot, id, tail, send)
	if errors.Is(err, bootlog.ErrNoLog) {
		ids, idsErr := s.Journal.IDs(ctx, boot)
		if idsErr != nil {
			return bootError(idsErr)
		}

		return status.Errorf(codes.NotFound, "logs of %q of boot %d: there are none; that boot has %q", id, boot, ids)
	}

	return bootError(err)
}

func bootError(err error) error {
	if _, ok := knownCauses.code(err); ok {
		return refused("", err)
	}

	return fileError("logs of an earlier boot", err)
}

// LogsContainers implements machine.MachineService.
func (s *Server) LogsContainers(ctx context.Context, _ *emptypb.Empty) (*machine.LogsContainersResponse, error) {
	boot, err := bootFrom(ctx)
	if err != nil {
		return nil, err
	}

	ids := s.Outputs.IDs()

	if boot != 0 {
		if ids, err = s.Journal.IDs(ctx, boot); err != nil {
			return nil, bootError(err)
		}
	}

	return &machine.LogsContainersResponse{Messages: []*machine.LogsContainer{{Ids: ids}}}, nil
}

// MachinedLog is the name of machined's log and service.
const MachinedLog = "machined"

// Dmesg implements machine.MachineService. It sends the kernel's log: with follow also new messages, with tail only those. In
// a container, where the kernel is the host's, it sends machined's log, which on a machine is part of the kernel's.
func (s *Server) Dmesg(req *machine.DmesgRequest, stream grpc.ServerStreamingServer[common.Data]) error {
	send := func(p []byte) error { return stream.Send(&common.Data{Bytes: p}) }
	own := s.Platform.Owns(platform.KernelLog)

	switch boot, err := bootFrom(stream.Context()); {
	case err != nil:
		return err
	case boot != 0 && own:
		return s.bootLogs(stream.Context(), boot, bootlog.Kernel, -1, req.GetFollow(), send)
	case boot != 0:
		return s.bootLogs(stream.Context(), boot, MachinedLog, -1, req.GetFollow(), send)
	case !own:
		return s.machinedLog(stream.Context(), req, send)
	}

	boot := kmsg.BootTime()
	skipBefore := uint64(0)

	if req.GetFollow() && req.GetTail() {
		err := kmsg.Read(stream.Context(), false, func(m kmsg.Message) error {
			skipBefore = m.Sequence + 1

			return nil
		})
		if err != nil {
			return fileError("dmesg", err)
		}
	}

	var buf bytes.Buffer

	flush := func() error {
		if buf.Len() == 0 {
			return nil
		}

		err := send(buf.Bytes()) // gRPC has encoded the bytes when it returns
		buf.Reset()

		return err
	}

	err := kmsg.Read(stream.Context(), req.GetFollow(), func(m kmsg.Message) error {
		if m.Sequence < skipBefore {
			return nil
		}

		buf.WriteString(m.Format(boot))
		buf.WriteByte('\n')

		if req.GetFollow() || buf.Len() > 16*1024 {
			return flush()
		}

		return nil
	})
	if err != nil {
		return fileError("dmesg", err)
	}

	return flush()
}

// machinedLog answers Dmesg with machined's log.
func (s *Server) machinedLog(ctx context.Context, req *machine.DmesgRequest, send func([]byte) error) error {
	lines := -1
	if req.GetFollow() && req.GetTail() {
		lines = 0
	}

	return s.Outputs.Read(ctx, MachinedLog, lines, req.GetFollow(), send)
}
