// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// Dial returns a connection for New. Keepalive probes notice a dead network path within 30 s. TCP alone takes two hours, and a
// watch, which sends nothing, would wait that long. The server must allow the probes, as one with server.Options does. A
// server that does not closes the connection now and then, and the watches start again.
func Dial(target string, opts ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.NewClient(target, append(DialOptions(), opts...)...)
}

// DialOptions returns the options that Dial uses.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 10 * time.Second}),
	}
}
