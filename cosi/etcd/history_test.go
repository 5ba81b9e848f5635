// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/etcd"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// cutter cancels the watch right after the first large batch, as etcd does without a leader.
type cutter struct {
	grpc.ClientStream
	cuts *atomic.Int32
	next *pb.WatchResponse
}

func (c *cutter) RecvMsg(m any) error {
	if c.next != nil {
		time.Sleep(60 * time.Millisecond)

		res := m.(*pb.WatchResponse) // it is a watch
		res.Header, res.WatchId, res.Canceled, res.CancelReason = c.next.Header, c.next.WatchId, true, "etcdserver: no leader"
		c.next = nil

		return nil
	}

	if err := c.ClientStream.RecvMsg(m); err != nil {
		return err
	}

	if res, ok := m.(*pb.WatchResponse); ok && len(res.Events) > 500 && c.cuts.Add(1) == 1 {
		c.next = &pb.WatchResponse{Header: res.Header, WatchId: res.WatchId}
	}

	return nil
}

// TestFarBehind opens a store more than a thousand revisions behind, which is more than etcd sends at once. One watch works,
// another one ends after the first thousand revisions. The copy is never older than etcd was at the call.
func TestFarBehind(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	const resources, changes, history = 300, 1800, 1700

	prefix, client := newPrefix(), dial(t)

	for i := range changes {
		item := conformance.NewItem(ns, fmt.Sprint(i%resources), fmt.Sprint(i))
		item.Metadata().SetVersion(uint64(i/resources) + 1)

		value, err := resource.MarshalWire(item)
		ok(t, err)

		_, err = client.Put(t.Context(), fmt.Sprintf("%s/n%%2Fs/%s/%d", prefix, kind().Type, i%resources), string(value))
		ok(t, err)
	}

	var cuts atomic.Int32

	cutting := dialTo(t, endpoint, grpc.WithChainStreamInterceptor(func(
		ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		s, err := streamer(ctx, desc, cc, method, opts...)

		return &cutter{ClientStream: s, cuts: &cuts}, err
	}))

	for name, client := range map[string]*clientv3.Client{"whole": client, "cut": cutting} {
		items, err := openAt(t, client, prefix, etcd.WithHistory(history)).List(t.Context(), kind())
		ok(t, err)

		old := resources - len(items)

		for _, r := range items {
			if r.Metadata().Version() != changes/resources {
				old++
			}
		}

		if old > 0 {
			t.Errorf("%s: of %d resources %d are old", name, resources, old)
		}
	}

	if cuts.Load() == 0 {
		t.Error("the watch was not cut: nothing was tested")
	}
}

// TestOneTransaction destroys many resources in one revision: a watch that resumes after any of the events gets the rest.
func TestOneTransaction(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	prefix, client := newPrefix(), dial(t)
	st, other := open(t, prefix), open(t, prefix)

	const resources = 5

	for i := range resources {
		ok(t, st.Create(t.Context(), conformance.NewItem(ns, fmt.Sprint(i), "")))
	}

	ch := make(chan state.Event, 2*resources)
	ok(t, st.WatchKind(t.Context(), kind(), ch))

	_, err := client.Delete(t.Context(), prefix+"/", clientv3.WithPrefix())
	ok(t, err)

	var marks []state.Bookmark
	for range resources {
		marks = append(marks, (<-ch).Bookmark)
	}

	for i, mark := range marks {
		for name, st := range map[string]*etcd.Store{"same": st, "other": other} {
			ch := make(chan state.Event, 2*resources)
			ok(t, st.WatchKind(t.Context(), kind(), ch, state.WithKindStartFromBookmark(mark)))

			for want := i + 1; want < resources; want++ {
				if ev := next(t, ch); ev.Type != state.Destroyed || ev.Resource.Metadata().ID() != fmt.Sprint(want) {
					t.Errorf("%s store, resumed after %d: got %s of %s, want %d destroyed", name, i, ev.Type, ev.Resource.Metadata(), want)
				}
			}
		}
	}
}

func next(t testing.TB, ch <-chan state.Event) state.Event {
	t.Helper()

	select {
	case ev := <-ch:
		return ev
	case <-time.After(10 * time.Second):
		t.Fatal("no event")

		return state.Event{}
	}
}

// TestCompacted compacts etcd while a store is cut off: the store's readers receive the differences.
func TestCompacted(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	s := ownServer(t, t.TempDir())
	client, way, prefix := dialTo(t, s.endpoint()), newProxy(t, s.endpoint()), newPrefix()
	behind, st := openAt(t, dialTo(t, way.endpoint()), prefix), openAt(t, client, prefix)

	ok(t, st.Create(t.Context(), conformance.NewItem(ns, "destroyed", "")))
	ok(t, st.Create(t.Context(), conformance.NewItem(ns, "kept", "")))
	ok(t, st.Create(t.Context(), conformance.NewItem(ns, "updated", "")))

	ch := make(chan state.Event, 10)
	ok(t, behind.WatchKind(t.Context(), kind(), ch, state.WithBootstrapContents()))

	var mark state.Bookmark
	for range 4 {
		mark = next(t, ch).Bookmark
	}

	hung := make(chan struct{})

	go func() {
		way.hang(500 * time.Millisecond)
		close(hung)
	}()

	time.Sleep(100 * time.Millisecond)

	ok(t, st.Destroy(t.Context(), resource.PointerOf[conformance.ItemSpec](ns, "destroyed")))
	ok(t, st.AddFinalizer(t.Context(), resource.PointerOf[conformance.ItemSpec](ns, "updated"), "f"))
	ok(t, st.Create(t.Context(), conformance.NewItem(ns, "created", "")))

	now, err := client.Get(t.Context(), "/nothing")
	ok(t, err)

	_, err = client.Compact(t.Context(), now.Header.Revision)
	ok(t, err)

	<-hung

	got := map[string]state.EventType{}

	for range 3 {
		ev := next(t, ch)
		got[ev.Resource.Metadata().ID()] = ev.Type
	}

	if len(got) != 3 || got["destroyed"] != state.Destroyed || got["updated"] != state.Updated || got["created"] != state.Created {
		t.Errorf("got %v", got)
	}

	if err := behind.WatchKind(t.Context(), kind(), ch, state.WithKindStartFromBookmark(mark)); !state.IsInvalidBookmark(err) {
		t.Errorf("resumed before an unknown change: %v, want an invalid bookmark", err)
	}
}
