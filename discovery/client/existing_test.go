// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	serverapi "github.com/seed-59268b81/talos/api/discovery/server"
)

// existing is a service as existing ones are: each watcher has a queue of 32 changes and is cut off when it overflows, each refresh is a
// change, and there is neither metadata nor a field of ours.
type existing struct {
	serverapi.UnimplementedClusterServer

	redirect string

	mu       sync.Mutex
	members  map[string]*serverapi.Affiliate
	watchers map[chan *serverapi.WatchResponse]bool
	hellos   int
}

func newExisting() *existing {
	return &existing{members: map[string]*serverapi.Affiliate{}, watchers: map[chan *serverapi.WatchResponse]bool{}}
}

func (e *existing) Hello(context.Context, *serverapi.HelloRequest) (*serverapi.HelloResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()

	e.hellos++

	if e.redirect != "" {
		return &serverapi.HelloResponse{Redirect: &serverapi.RedirectMessage{Endpoint: e.redirect}}, nil
	}

	return &serverapi.HelloResponse{ClientIp: []byte{203, 0, 113, 7}}, nil
}

func (e *existing) tell(m *serverapi.WatchResponse) {
	for w := range e.watchers {
		select {
		case w <- m:
		default:
			delete(e.watchers, w)
			close(w)
		}
	}
}

func (e *existing) AffiliateUpdate(_ context.Context, in *serverapi.AffiliateUpdateRequest) (*serverapi.AffiliateUpdateResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()

	a := &serverapi.Affiliate{Id: in.GetAffiliateId(), Data: in.GetAffiliateData(), Endpoints: in.GetAffiliateEndpoints()}

	if known := e.members[a.GetId()]; known != nil {
		if len(a.GetData()) == 0 {
			a.Data = known.GetData()
		}

		a.Endpoints = append(append([][]byte{}, known.GetEndpoints()...), a.GetEndpoints()...)
	}

	e.members[a.GetId()] = a
	e.tell(&serverapi.WatchResponse{Affiliates: []*serverapi.Affiliate{a}})

	return &serverapi.AffiliateUpdateResponse{}, nil
}

func (e *existing) AffiliateDelete(_ context.Context, in *serverapi.AffiliateDeleteRequest) (*serverapi.AffiliateDeleteResponse, error) {
	e.remove(in.GetAffiliateId())

	return &serverapi.AffiliateDeleteResponse{}, nil
}

func (e *existing) remove(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()

	delete(e.members, id)
	e.tell(&serverapi.WatchResponse{Affiliates: []*serverapi.Affiliate{{Id: id}}, Deleted: true})
}

// cut ends all watches, as when they were too slow.
func (e *existing) cut() {
	e.mu.Lock()
	defer e.mu.Unlock()

	for w := range e.watchers {
		delete(e.watchers, w)
		close(w)
	}
}

func (e *existing) Watch(_ *serverapi.WatchRequest, stream grpc.ServerStreamingServer[serverapi.WatchResponse]) error {
	w := make(chan *serverapi.WatchResponse, 32)
	all := &serverapi.WatchResponse{}

	e.mu.Lock()

	for _, a := range e.members {
		all.Affiliates = append(all.Affiliates, a)
	}

	e.watchers[w] = true

	e.mu.Unlock()

	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()

		delete(e.watchers, w)
	}()

	if err := stream.Send(all); err != nil {
		return err
	}

	for {
		select {
		case m, ok := <-w:
			if !ok {
				return status.Error(codes.Aborted, "subscription canceled: lost update")
			}

			if err := stream.Send(m); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return nil
		}
	}
}

// TestExistingService runs sessions against an existing service.
func TestExistingService(t *testing.T) {
	service := newExisting()
	n := newNetwork(t)
	n.start(t, "old:1", func(g *grpc.Server) { serverapi.RegisterClusterServer(g, service) })

	a, b := n.session(t, "old:1", "a"), n.session(t, "old:1", "b")

	a.Publish(local("a", "10.0.0.1:51820"))
	a.SetWatch(true)
	b.SetWatch(true)

	v := await(t, b, "a", func(v *View) bool { return v.Complete && len(v.Affiliates) == 1 })
	if got := v.PublicIP.String(); got != "203.0.113.7" || v.Young {
		t.Errorf("public address %s, young %t", got, v.Young)
	}

	b.Publish(local("b", "10.0.0.2:51820", "[2001:db8::2]:51820"))

	v = await(t, a, "b", func(v *View) bool { return len(v.Affiliates) == 1 })
	if got := v.Affiliates["b"]; got.Affiliate.GetHostname() != "b" || len(got.Endpoints) != 2 || got.Revision != 7 {
		t.Errorf("a sees %+v", got)
	}

	// A stream that the service ends is a connection that ends.
	service.cut()
	await(t, a, "an error", func(v *View) bool { return v.Err != nil })
	await(t, a, "b again", func(v *View) bool { return v.Complete && len(v.Affiliates) == 1 })

	// A removal while no one watches is noticed.
	b.Publish(nil)
	await(t, a, "b to go", func(v *View) bool { return v.Complete && len(v.Affiliates) == 0 })
}

// TestRedirects follows redirects, but not for ever.
func TestRedirects(t *testing.T) {
	n := newNetwork(t)
	first, second, loop := newExisting(), newExisting(), newExisting()
	first.redirect, loop.redirect = "second:1", "loop:1"

	for address, service := range map[string]*existing{"first:1": first, "second:1": second, "loop:1": loop} {
		n.start(t, address, func(g *grpc.Server) { serverapi.RegisterClusterServer(g, service) })
	}

	a := n.session(t, "first:1", "a")
	a.SetWatch(true)
	await(t, a, "the second service", func(v *View) bool { return v.Complete })

	lost := n.session(t, "loop:1", "a")
	await(t, lost, "an error", func(v *View) bool { return v.Err != nil })

	loop.mu.Lock()
	defer loop.mu.Unlock()

	if loop.hellos < maxRedirects || loop.hellos > 4*(maxRedirects+1) {
		t.Errorf("%d calls before the first error", loop.hellos)
	}
}
