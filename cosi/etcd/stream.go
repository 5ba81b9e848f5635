// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// stream is one watch on one connection, and ends with the connection. The watch of clientv3 does not: it continues on the
// next connection, to an etcd that may have been restored from a snapshot in between.
type stream struct {
	pb.Watch_WatchClient

	cancel  context.CancelFunc
	silence time.Duration
	after   int64

	sending sync.Mutex // gRPC allows one Send at a time
}

// watch starts a watch of what happens to the keys of the store after a revision that etcd has. It starts at that revision: etcd does not say
// how far a watch is that starts in the future, so without a write the connection would count as dead.
func (s *Store) watch(ctx context.Context, after int64) (*stream, error) {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	st := &stream{cancel: cancel, silence: s.o.silence, after: after}

	err := st.start(ctx, s.client.ActiveConnection(), &pb.WatchCreateRequest{
		Key: []byte(s.firstKey()), RangeEnd: []byte(s.endKey()), StartRevision: after, ProgressNotify: true,
	})
	if err != nil {
		cancel()

		return nil, fmt.Errorf("watch after revision %d: %w", after, err)
	}

	return st, nil
}

func (st *stream) start(ctx context.Context, conn *grpc.ClientConn, req *pb.WatchCreateRequest) (err error) {
	timeout := time.AfterFunc(st.silence, st.cancel)
	defer timeout.Stop()

	// One message may contain a thousand revisions.
	st.Watch_WatchClient, err = pb.NewWatchClient(conn).Watch(ctx, grpc.MaxCallRecvMsgSize(math.MaxInt32))
	if err != nil {
		return err
	}

	if err := st.send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: req}}); err != nil {
		return err
	}

	res, err := st.Recv()
	if err != nil {
		return err
	}

	return failureOf(res)
}

// failureOf returns the error with which etcd ends the watch, nil if it does not end.
func failureOf(res *pb.WatchResponse) error {
	switch {
	case res.CompactRevision != 0:
		return rpctypes.ErrCompacted
	case res.Canceled:
		return errors.New(res.CancelReason)
	default:
		return nil
	}
}

func (st *stream) send(req *pb.WatchRequest) error {
	st.sending.Lock()
	defer st.sending.Unlock()

	return st.Send(req)
}

// askProgress asks etcd for the position of the watch. etcd answers only when the watch is not behind.
func (st *stream) askProgress() error {
	return st.send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_ProgressRequest{ProgressRequest: &pb.WatchProgressRequest{}}})
}

// receive calls events for each message with events, and progress for each message that has only the position of the watch,
// until the stream ends. A connection on which nothing arrives, although etcd is asked, counts as dead.
func (st *stream) receive(events func([]*mvccpb.Event), progress func(revision int64)) error {
	dead := time.AfterFunc(st.silence, st.cancel)
	defer dead.Stop()

	go st.askRegularly()

	for {
		res, err := st.Recv()
		if err != nil {
			return err
		}

		if err := failureOf(res); err != nil {
			return err
		}

		dead.Reset(st.silence)

		// The header of a message with events has the revision of etcd, which may be ahead of the watch.
		if len(res.Events) > 0 {
			events(slices.DeleteFunc(res.Events, func(ev *mvccpb.Event) bool { return ev.Kv.ModRevision <= st.after }))
		} else if !res.Created {
			progress(res.Header.GetRevision())
		}
	}
}

// askRegularly asks for the position until the stream ends.
func (st *stream) askRegularly() {
	const perSilence = 3

	ticker := time.NewTicker(st.silence / perSilence)
	defer ticker.Stop()

	for {
		select {
		case <-st.Context().Done():
			return
		case <-ticker.C:
			st.askProgress() // if it fails, nothing arrives, and receive ends
		}
	}
}
