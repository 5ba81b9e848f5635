// SPDX-License-Identifier: Apache-2.0

package server

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// Options are for the gRPC server that this service runs in:
//
//	g := grpc.NewServer(server.Options()...)
//
// A dead connection is noticed within 40 s, and its watches end. Clients may send keepalive probes as often as remote.Dial
// does; a gRPC server does not allow that by default. The codec is Codec.
func Options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ForceServerCodecV2(Codec()),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
	}
}
