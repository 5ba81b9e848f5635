// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"google.golang.org/grpc"

	"github.com/seed-59268b81/talos/cosi/state"
)

// BenchmarkWatchersFloor is BenchmarkWatchers without a store: a loop that sends to 1,000 channels, each with a reader.
func BenchmarkWatchersFloor(b *testing.B) {
	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(cancel)

	var chs []chan state.Event

	got := make(chan struct{}, watchers)

	for range watchers {
		ch := make(chan state.Event)
		chs = append(chs, ch)

		go func() {
			for {
				select {
				case <-ch:
					got <- struct{}{}
				case <-ctx.Done():
					return
				}
			}
		}()
	}

	for b.Loop() {
		for _, ch := range chs {
			ch <- state.Event{}
		}

		for range watchers {
			<-got
		}
	}
}

// BenchmarkFanout100Floor is BenchmarkFanout100 without a store: a gRPC server that sends as many bytes to 100 clients.
func BenchmarkFanout100Floor(b *testing.B) {
	const (
		clients = 100
		size    = 745 // of the event
	)

	var (
		mu  sync.Mutex
		chs []chan struct{}
	)

	msg := make([]byte, size)
	path := filepath.Join(b.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	ok(b, err)

	g := grpc.NewServer(grpc.ForceServerCodec(raw{}), grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		ch := make(chan struct{})

		mu.Lock()
		chs = append(chs, ch)
		mu.Unlock()

		var none []byte
		if err := stream.SendMsg(&none); err != nil {
			return err
		}

		for {
			select {
			case <-ch:
				if err := stream.SendMsg(&msg); err != nil {
					return err
				}
			case <-stream.Context().Done():
				return nil
			}
		}
	}))

	go g.Serve(listener)

	b.Cleanup(g.Stop)

	got := make(chan struct{}, clients)
	watchAll(b, "unix://"+path, clients, "", "", got)

	for b.Loop() {
		for _, ch := range chs {
			ch <- struct{}{}
		}

		for range clients {
			<-got
		}
	}
}
