// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"crypto/tls"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"github.com/seed-59268b81/talos/api/contract"
)

const (
	// handshakeTimeout is for TLS and the start of HTTP/2.
	handshakeTimeout = 10 * time.Second
	// pingMin is the shortest interval between keepalive pings of a client, and the interval of another apid.
	pingMin = 10 * time.Second
	// maxStreams is how many calls may run on one connection.
	maxStreams = 256
	// maxHeader is the largest metadata of a call, in bytes.
	maxHeader = 64 << 10
)

// Server returns the gRPC server of the public port. Serve it on a listener of newListener.
func (r *Router) Server() *grpc.Server {
	return grpc.NewServer(
		grpc.Creds(admission{log: r.log, callers: r.callers, TransportCredentials: credentials.NewTLS(&tls.Config{
			MinVersion:         tls.VersionTLS13,
			NextProtos:         []string{"h2"},
			GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return r.View().TLS() },
		})}),
		grpc.ForceServerCodecV2(codec{}),
		grpc.UnknownServiceHandler(r.handle),
		grpc.MaxRecvMsgSize(contract.MaxMessage),
		grpc.MaxHeaderListSize(maxHeader),
		grpc.MaxConcurrentStreams(maxStreams),
		// Connections that send nothing are closed.
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingMin / 2, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second, MaxConnectionIdle: idle}),
		grpc.ReadBufferSize(16<<10),
		grpc.WriteBufferSize(16<<10),
	)
}
