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

// window is how much the server sends before this end has acknowledged it. With a window of a fixed size the client does not
// send a ping after each message to measure the bandwidth: a small event takes both ends three system calls instead of six.
// 1 MiB is enough for 20 MB/s over a path of 50 ms, and the most that a reader that is behind keeps in memory for each watch;
// without a fixed size, gRPC lets it grow to 16 MiB. A larger message widens the window while it is received.
const window = 1 << 20

// DialOptions returns the options that Dial uses.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithStaticStreamWindowSize(window),
		grpc.WithStaticConnWindowSize(window),
	}
}
