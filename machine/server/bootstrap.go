// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"errors"

	"github.com/rs/xid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/controllers/etcd"
	etcdres "github.com/seed-59268b81/talos/resources/etcd"
)

// bootstrapSequence names the call in events.
const bootstrapSequence = "bootstrap"

// Bootstrap implements machine.MachineService. It leaves the wish; the etcd controller follows it.
func (s *Server) Bootstrap(ctx context.Context, req *machine.BootstrapRequest) (*machine.BootstrapResponse, error) {
	actor := xid.New().String()
	s.Ring.Publish(&machine.SequenceEvent{Sequence: bootstrapSequence, Action: machine.SequenceEvent_START}, actor)

	err := etcd.RequestBootstrap(ctx, s.State, "/", etcdres.BootstrapRequestSpec{
		Recover: req.GetRecoverEtcd(), SkipHashCheck: req.GetRecoverSkipHashCheck(),
	})

	done := &machine.SequenceEvent{Sequence: bootstrapSequence, Action: machine.SequenceEvent_STOP}
	if err != nil {
		done.Error = &common.Error{Code: common.Code_FATAL, Message: err.Error()}
	}

	s.Ring.Publish(done, actor)

	switch {
	case err == nil:
		return &machine.BootstrapResponse{Messages: []*machine.Bootstrap{{}}}, nil
	case errors.Is(err, etcd.ErrHasData), errors.Is(err, etcd.ErrAlreadyAsked):
		return nil, status.Error(codes.AlreadyExists, err.Error())
	case errors.Is(err, etcd.ErrRecover):
		return nil, status.Error(codes.Unimplemented, err.Error())
	case errors.Is(err, etcd.ErrNotConfigured), errors.Is(err, etcd.ErrNotControlPlane),
		errors.Is(err, etcd.ErrTimeNotSynced), errors.Is(err, etcd.ErrDiskNotReady):
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	default:
		return nil, status.Errorf(codes.Internal, "bootstrap: %v", err)
	}
}
