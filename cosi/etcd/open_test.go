// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/seed-59268b81/talos/cosi/etcd"
)

// mute is an etcd that answers reads, and hangs when it is asked for a watch.
type mute struct {
	pb.UnimplementedKVServer
	pb.UnimplementedWatchServer
}

func (*mute) Range(context.Context, *pb.RangeRequest) (*pb.RangeResponse, error) {
	return &pb.RangeResponse{Header: &pb.ResponseHeader{ClusterId: 1, Revision: 5}}, nil
}

func (*mute) Watch(stream pb.Watch_WatchServer) error {
	<-stream.Context().Done()

	return stream.Context().Err()
}

// TestOpenEnds: the opening of a store ends with the context of its caller, even if etcd hangs between two calls.
func TestOpenEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)

	srv := grpc.NewServer()
	pb.RegisterKVServer(srv, &mute{})
	pb.RegisterWatchServer(srv, &mute{})

	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()

	t.Cleanup(func() {
		srv.Stop()
		<-served
	})

	client, err := clientv3.New(clientv3.Config{Endpoints: []string{l.Addr().String()}, Logger: zap.NewNop()})
	ok(t, err)
	t.Cleanup(func() { client.Close() })

	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()

	opened := make(chan error, 1)

	go func() {
		_, err := etcd.Open(ctx, client, etcd.WithPrefix("/mute"))
		opened <- err
	}()

	if err := within(t, "the end of Open", 10*time.Second, opened); err == nil || errors.Is(err, context.Canceled) && ctx.Err() == nil {
		t.Errorf("got %v", err)
	}
}
