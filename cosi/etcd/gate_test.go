// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"sync"

	"google.golang.org/grpc"
)

// gate delays the messages of a watch, but not of requests.
type gate struct{ mu sync.RWMutex }

func (g *gate) close() (open func()) {
	g.mu.Lock()

	return g.mu.Unlock
}

func (g *gate) option() grpc.DialOption {
	return grpc.WithChainStreamInterceptor(func(
		ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		s, err := streamer(ctx, desc, cc, method, opts...)

		return &gated{s, g}, err
	})
}

type gated struct {
	grpc.ClientStream
	gate *gate
}

func (g *gated) RecvMsg(m any) error {
	err := g.ClientStream.RecvMsg(m)

	g.gate.mu.RLock()
	defer g.gate.mu.RUnlock()

	return err
}
