// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"errors"
	"syscall"

	"github.com/rs/xid"
	"google.golang.org/grpc"
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

	if err != nil {
		return nil, bootstrapError("bootstrap", err)
	}

	return &machine.BootstrapResponse{Messages: []*machine.Bootstrap{{}}}, nil
}

// bootstrapError gives the reasons for which etcd is not started their codes.
func bootstrapError(what string, err error) error {
	switch {
	case errors.Is(err, etcd.ErrHasData), errors.Is(err, etcd.ErrAlreadyAsked):
		return status.Error(codes.AlreadyExists, err.Error())
	case errors.Is(err, etcd.ErrNotConfigured), errors.Is(err, etcd.ErrNotControlPlane), errors.Is(err, etcd.ErrNoSnapshot),
		errors.Is(err, etcd.ErrTimeNotSynced), errors.Is(err, etcd.ErrDiskNotReady):
		return status.Error(codes.FailedPrecondition, err.Error())
	case errors.Is(err, etcd.ErrUploading):
		return status.Error(codes.Aborted, err.Error())
	case errors.Is(err, etcd.ErrEmptySnapshot):
		return status.Error(codes.InvalidArgument, err.Error())
	case errors.Is(err, syscall.ENOSPC):
		return status.Errorf(codes.ResourceExhausted, "%s: %v", what, err)
	default:
		return status.Errorf(codes.Internal, "%s: %v", what, err)
	}
}

// EtcdRecover implements machine.MachineService: it keeps the snapshot for a Bootstrap that asks for it.
func (s *Server) EtcdRecover(stream grpc.ClientStreamingServer[common.Data, machine.EtcdRecoverResponse]) error {
	err := etcd.KeepSnapshot(stream.Context(), s.State, "/", &pieces{next: func() ([]byte, error) {
		piece, err := stream.Recv()

		return piece.GetBytes(), err
	}})
	if err != nil {
		return bootstrapError("recover etcd", err)
	}

	return stream.SendAndClose(&machine.EtcdRecoverResponse{Messages: []*machine.EtcdRecover{{}}})
}
