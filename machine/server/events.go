// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/machine/events"
)

// Events implements machine.MachineService.
func (s *Server) Events(req *machine.EventsRequest, stream grpc.ServerStreamingServer[machine.Event]) error {
	start := events.Start{
		Tail: int(req.GetTailEvents()), After: req.GetTailId(),
		Since: time.Duration(req.GetTailSeconds()) * time.Second, Actor: req.GetWithActorId(),
	}

	err := s.Ring.Watch(stream.Context(), start, func(e events.Event) error {
		w, err := e.Wire()
		if err != nil {
			return err
		}

		return stream.Send(w)
	})

	if _, known := knownCauses.code(err); known {
		return refused("events", err)
	}

	if err != nil && status.Code(err) == codes.Unknown {
		return status.Error(codes.InvalidArgument, err.Error())
	}

	return err
}
