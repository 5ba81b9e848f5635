// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"golang.org/x/net/bpf"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/sys/pcap"
)

// captures limits how many run. Each has a buffer of megabytes in the kernel.
var captures = make(chan struct{}, 8)

// PacketCapture implements machine.MachineService. It sends a capture file until the caller ends the call. The caller's filter
// must exclude the answer's own packets if they use the captured link.
func (s *Server) PacketCapture(req *machine.PacketCaptureRequest, stream grpc.ServerStreamingServer[common.Data]) error {
	filter, err := bpfFilter(req.GetBpfFilter())
	if err != nil {
		return err
	}

	select {
	case captures <- struct{}{}:
		defer func() { <-captures }()
	default:
		return status.Errorf(codes.ResourceExhausted, "packet capture: %d are running already; end one of them first", cap(captures))
	}

	capture := pcap.Capture{Link: req.GetInterface(), Promiscuous: req.GetPromiscuous(), SnapLen: req.GetSnapLen(), Filter: filter}

	err = capture.Run(stream.Context(), func(b []byte) error { return stream.Send(&common.Data{Bytes: b}) })

	if err == nil || stream.Context().Err() != nil {
		return nil
	}

	return fileError("packet capture", err)
}

// bpfFilter converts a filter, whose numbers have 16 and 8 bits, types that messages do not have. The kernel checks the
// instructions themselves.
func bpfFilter(instructions []*machine.BPFInstruction) ([]bpf.RawInstruction, error) {
	var filter []bpf.RawInstruction

	for i, in := range instructions {
		if in.GetOp() > 0xffff || in.GetJt() > 0xff || in.GetJf() > 0xff {
			return nil, status.Errorf(codes.InvalidArgument, "packet capture: instruction %d of the filter is out of range: %v", i, in)
		}

		filter = append(filter, bpf.RawInstruction{Op: uint16(in.GetOp()), Jt: uint8(in.GetJt()), Jf: uint8(in.GetJf()), K: in.GetK()})
	}

	return filter, nil
}
