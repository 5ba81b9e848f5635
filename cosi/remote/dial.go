// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// Dial returns a connection for New. A path that went dead without a word is noticed within 30 s: by itself, TCP notices
// it after two hours, and a watch, which sends nothing, waits that long. The server must allow the questions, as one with
// server.Options does; another one closes the connection now and then, and the watches are made again.
func Dial(target string, opts ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.NewClient(target, append(DialOptions(), opts...)...)
}

// DialOptions are those of Dial.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 10 * time.Second}),
	}
}
