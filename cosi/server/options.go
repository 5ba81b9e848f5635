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
// Clients that are gone without a word are noticed within 40 s, and their watches end. Clients may ask as often as
// remote.Dial makes them; a gRPC server does not let them by itself.
func Options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
	}
}
