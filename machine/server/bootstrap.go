// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"

	"github.com/rs/xid"
	"google.golang.org/grpc"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/controllers/etcd"
	etcdres "github.com/seed-59268b81/talos/resources/etcd"
)

// bootstrapSequence names the call in events.
const bootstrapSequence = "bootstrap"

// Bootstrap implements machine.MachineService. It records the request, which the etcd controller carries out.
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
		return nil, refused("bootstrap", err)
	}

	return &machine.BootstrapResponse{Messages: []*machine.Bootstrap{{}}}, nil
}

// EtcdRecover implements machine.MachineService: it stores the snapshot for a later Bootstrap.
func (s *Server) EtcdRecover(stream grpc.ClientStreamingServer[common.Data, machine.EtcdRecoverResponse]) error {
	err := etcd.KeepSnapshot(stream.Context(), s.State, "/", &chunks{next: func() ([]byte, error) {
		chunk, err := stream.Recv()

		return chunk.GetBytes(), err
	}})
	if err != nil {
		return refused("recover etcd", err)
	}

	return stream.SendAndClose(&machine.EtcdRecoverResponse{Messages: []*machine.EtcdRecover{{}}})
}
