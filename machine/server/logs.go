// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"bytes"
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/sys/kmsg"
)

// systemNamespaces are the names by which clients ask for the services' logs.
var systemNamespaces = map[string]bool{"": true, "system": true}

// Logs implements machine.MachineService.
func (s *Server) Logs(req *machine.LogsRequest, stream grpc.ServerStreamingServer[common.Data]) error {
	send := func(p []byte) error { return stream.Send(&common.Data{Bytes: p}) }

	tail := int(req.GetTailLines())

	if !systemNamespaces[req.GetNamespace()] {
		return s.containerLogs(stream.Context(), req.GetId(), tail, req.GetFollow(), send)
	}

	if !s.Outputs.Has(req.GetId()) {
		return status.Errorf(codes.NotFound, "logs of %q: there is no such service; those with a log are %q", req.GetId(), s.Outputs.IDs())
	}

	return s.Outputs.Read(stream.Context(), req.GetId(), tail, req.GetFollow(), send)
}

// LogsContainers implements machine.MachineService.
func (s *Server) LogsContainers(context.Context, *emptypb.Empty) (*machine.LogsContainersResponse, error) {
	return &machine.LogsContainersResponse{Messages: []*machine.LogsContainer{{Ids: s.Outputs.IDs()}}}, nil
}

// Dmesg implements machine.MachineService. Without follow it sends what the kernel has; with tail only what comes.
func (s *Server) Dmesg(req *machine.DmesgRequest, stream grpc.ServerStreamingServer[common.Data]) error {
	boot := kmsg.BootTime()
	skipBefore := uint64(0)

	if req.GetFollow() && req.GetTail() {
		err := kmsg.Read(stream.Context(), false, func(m kmsg.Message) error {
			skipBefore = m.Sequence + 1

			return nil
		})
		if err != nil {
			return err
		}
	}

	var buf bytes.Buffer

	flush := func() error {
		if buf.Len() == 0 {
			return nil
		}

		err := stream.Send(&common.Data{Bytes: bytes.Clone(buf.Bytes())})
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
		return err
	}

	return flush()
}
