// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/transform"
	"github.com/seed-59268b81/talos/discovery/client"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// world has discovery services by their endpoints.
type world struct {
	mu       sync.Mutex
	down     map[string]bool
	carriers bool                                // whether control planes carry a service
	said     map[string]map[string]*client.Local // by endpoint and affiliate
	lies     map[string]map[string]client.Affiliate
	// hides are machines that a source leaves out.
	hides   map[string]string
	refuses bool // whether sources take no announcement
	// asked are the endpoints that were asked for a list.
	asked []string
	// farewells are the endpoints that were told to forget a machine.
	farewells []string
	// opened counts sessions, and announced is told about each announcement.
	opened    int
	announced func(client.Options, *client.Local)
	sessions  map[*fakeSession]bool
}

func newWorld() *world {
	return &world{
		down: map[string]bool{}, hides: map[string]string{}, said: map[string]map[string]*client.Local{}, lies: map[string]map[string]client.Affiliate{}, sessions: map[*fakeSession]bool{},
	}
}

// fakeSession implements Session.
type fakeSession struct {
	world   *world
	options client.Options
	changed chan struct{}

	running, watch, published bool
	local                     *client.Local
	view                      *client.View
}

func (w *world) open(o client.Options, _ *slog.Logger) Session {
	w.do(func() { w.opened++ })

	return &fakeSession{world: w, options: o, changed: make(chan struct{}, 1), view: &client.View{State: client.StateConnecting}}
}

func (s *fakeSession) Run(ctx context.Context) error {
	s.world.do(func() { s.running = true; s.world.sessions[s] = true })
	<-ctx.Done()
	s.world.do(func() { delete(s.world.sessions, s) })

	return nil
}

func (s *fakeSession) Publish(l *client.Local) {
	s.world.do(func() {
		if s.local, s.published = l, true; s.world.announced != nil && l != nil {
			s.world.announced(s.options, l)
		}

		if l == nil {
			s.world.farewells = append(s.world.farewells, s.options.AffiliateID+" at "+s.options.Endpoint)
		}
	})
}

func (s *fakeSession) SetWatch(on bool)         { s.world.do(func() { s.watch = on }) }
func (s *fakeSession) Changed() <-chan struct{} { return s.changed }

func (s *fakeSession) List(context.Context) (map[string]client.Affiliate, error) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()

	s.world.asked = append(s.world.asked, s.options.Endpoint)

	if s.world.isDown(s.options.Endpoint) {
		return nil, client.ErrNotConnected
	}

	return s.world.has(s), nil
}

func (s *fakeSession) View() *client.View {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()

	return s.view
}

func (w *world) isDown(endpoint string) bool {
	return w.down[endpoint] || !w.carriers && strings.HasSuffix(endpoint, ":50002")
}

// key is that of what was said: services keep clusters apart.
func (s *fakeSession) key() string {
	if s.options.ClusterID == "cluster" {
		return s.options.Endpoint
	}

	return s.options.ClusterID + " " + s.options.Endpoint
}

// do changes the world, and then tells all sessions.
func (w *world) do(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()

	change()

	for s := range w.sessions {
		at := s.key()

		switch {
		case w.isDown(s.options.Endpoint) || w.refuses || !s.published:
		case s.local == nil:
			delete(w.said[at], s.options.AffiliateID)
		default:
			if w.said[at] == nil {
				w.said[at] = map[string]*client.Local{}
			}

			w.said[at][s.options.AffiliateID] = s.local
		}
	}

	for s := range w.sessions {
		next := w.seenBy(s)
		if fmt.Sprintf("%+v", next) == fmt.Sprintf("%+v", s.view) {
			continue
		}

		s.view = next

		select {
		case s.changed <- struct{}{}:
		default:
		}
	}
}

func (w *world) seenBy(s *fakeSession) *client.View {
	at := s.options.Endpoint

	switch {
	case w.isDown(at):
		return &client.View{State: client.StateConnecting, Err: errors.New("no route to host")}
	case !s.watch && w.refuses:
		return &client.View{State: client.StatePublishing, Err: errors.New("too many affiliates in the cluster")}
	case !s.watch:
		return &client.View{State: client.StatePublishing}
	}

	view := &client.View{State: client.StateWatching, Complete: true, Affiliates: w.has(s)}

	if w.refuses {
		view.Err = errors.New("too many affiliates in the cluster")
	}

	return view
}

// has returns what a source tells a session.
func (w *world) has(s *fakeSession) map[string]client.Affiliate {
	all := map[string]client.Affiliate{}

	for id, l := range w.said[s.key()] {
		if id != s.options.AffiliateID && !slices.Contains(strings.Fields(w.hides[s.options.Endpoint]), id) {
			all[id] = client.Affiliate{ID: id, Affiliate: l.Affiliate, Endpoints: l.Endpoints, Revision: l.Revision}
		}
	}

	maps.Copy(all, w.lies[s.options.Endpoint])

	return all
}

// knows returns the identities that a source has.
func (w *world) knows(endpoint string) string {
	w.mu.Lock()
	defer w.mu.Unlock()

	return strings.Join(slices.Sorted(maps.Keys(w.said[endpoint])), " ")
}

// stateVolume mounts what is requested at a folder.
func stateVolume(dir string) controller.Controller {
	return transform.Map[block.VolumeMountRequestSpec, block.VolumeMountStatusSpec]{
		Name: "block.Mounts", Hold: true,
		Transform: func(_ context.Context, _ state.Reader, _ *slog.Logger, in *resource.Typed[block.VolumeMountRequestSpec], out *block.VolumeMountStatusSpec) error {
			out.VolumeID, out.Target = in.TypedSpec().VolumeID, dir

			return nil
		},
	}.Controller()
}

var first, second = "one.example:443", "two.example:443"

func settings() cluster.ConfigSpec {
	return cluster.ConfigSpec{
		DiscoveryEnabled: true, ServiceEncryptionKey: make([]byte, 32), ServiceClusterID: "cluster",
		ServiceEndpoints: []cluster.ServiceEndpoint{{Name: "first", Endpoint: first}, {Name: "second", Endpoint: second}},
	}
}

// machine starts the controllers of a machine, with STATE in a folder, until stop is called.
func machine(t *testing.T, w *world, id, dir string) (n *controllertest.Node, stop func()) {
	t.Helper()

	inner := &stoppable{TB: t}
	t.Cleanup(inner.stop)

	n = controllertest.Start(inner, stateVolume(dir), discoveryServiceController(Deps{Root: dir, Open: w.open}),
		affiliateMergeController(), memberController(), etcdClaimController(), endpointController())

	controllertest.Set(n, cluster.LocalIdentityID, cluster.IdentitySpec{NodeID: id})
	controllertest.Set(n, secrets.OSRootID, secrets.OSRootSpec{})
	controllertest.Set(n, cluster.ConfigID, settings())
	controllertest.Set(n, id, own(id))

	return n, inner.stop
}

// stoppable is a test whose cleanup can come earlier.
type stoppable struct {
	testing.TB
	cleanup []func()
}

func (s *stoppable) Cleanup(f func()) { s.cleanup = append(s.cleanup, f) }

func (s *stoppable) stop() {
	for _, f := range slices.Backward(s.cleanup) {
		f()
	}

	s.cleanup = nil
}

func own(id string) cluster.AffiliateSpec {
	return cluster.AffiliateSpec{
		NodeID: id, Nodename: "node-" + id, Hostname: "node-" + id, MachineType: config.TypeControlPlane,
		Addresses: []netip.Addr{netip.AddrFrom4([4]byte{172, 20, 0, id[0]})}, ControlPlane: &cluster.ControlPlane{APIServerPort: 6443},
	}
}
