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

// MetadataBoot is the key of a call's metadata by which Logs, LogsContainers and Dmesg are asked for an earlier boot: -1
// for the one before this, -2 for the one before that, as `talosctl get boots` numbers them. Clients that do not know it
// get the boot that runs, as ever.
const MetadataBoot = "talos-boot"

// bootFrom returns which boot a call is about; 0 is the one that runs.
func bootFrom(ctx context.Context) (int, error) {
	md, _ := metadata.FromIncomingContext(ctx)

	values := md.Get(MetadataBoot)
	if len(values) == 0 {
		return 0, nil
	}

	boot, err := strconv.Atoi(values[0])
	if err != nil || boot > 0 || len(values) > 1 {
		return 0, status.Errorf(codes.InvalidArgument, "boot %.40q: want one number, 0 for this boot, -1 for the one before, and so on; see: talosctl get boots", values)
	}

	return boot, nil
}

// systemNamespaces are the names by which clients ask for the services' logs.
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
		return status.Errorf(codes.InvalidArgument, "logs of %q of boot %d: only those of services are kept by boot; those of pods are where they are without it", req.GetId(), boot)
	case boot != 0:
		return s.bootLogs(stream.Context(), boot, req.GetId(), tail, req.GetFollow(), send)
	case !systemNamespaces[req.GetNamespace()]:
		return s.containerLogs(stream.Context(), req.GetId(), tail, req.GetFollow(), send)
	case !s.Outputs.Has(req.GetId()):
		return status.Errorf(codes.NotFound, "logs of %q: there is no such service; those with a log are %q", req.GetId(), s.Outputs.IDs())
	default:
		return s.Outputs.Read(stream.Context(), req.GetId(), tail, req.GetFollow(), send)
	}
}

// bootLogs sends a log of an earlier boot.
func (s *Server) bootLogs(ctx context.Context, boot int, id string, tail int, follow bool, send func([]byte) error) error {
	if follow {
		return status.Errorf(codes.InvalidArgument, "logs of %q of boot %d: that boot is over, and there is nothing to follow", id, boot)
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

// MachinedLog is the name of machined's own log, and of its service.
const MachinedLog = "machined"

// Dmesg implements machine.MachineService. Without follow it sends what the kernel has; with tail only what comes. Where the
// kernel is another's, machined's log takes the place of the kernel's, in which it is otherwise found too.
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

		err := send(buf.Bytes()) // gRPC has encoded it when it returns
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

// machinedLog answers as Dmesg does, out of machined's log.
func (s *Server) machinedLog(ctx context.Context, req *machine.DmesgRequest, send func([]byte) error) error {
	lines := -1
	if req.GetFollow() && req.GetTail() {
		lines = 0
	}

	return s.Outputs.Read(ctx, MachinedLog, lines, req.GetFollow(), send)
}
