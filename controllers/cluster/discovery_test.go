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
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/transform"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/discovery/client"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// world has discovery services by their endpoints.
type world struct {
	mu       sync.Mutex
	down     map[string]bool
	carriers bool                                // whether control planes carry a service
	said     map[string]map[string]*client.Local // by endpoint and affiliate
	lies     map[string]map[string]client.Affiliate
	sessions map[*fakeSession]bool
}

func newWorld() *world {
	return &world{
		down: map[string]bool{}, said: map[string]map[string]*client.Local{}, lies: map[string]map[string]client.Affiliate{}, sessions: map[*fakeSession]bool{},
	}
}

// fakeSession implements Session.
type fakeSession struct {
	world   *world
	options client.Options
	changed chan struct{}

	running, watch bool
	local          *client.Local
	view           *client.View
}

func (w *world) open(o client.Options, _ *slog.Logger) Session {
	return &fakeSession{world: w, options: o, changed: make(chan struct{}, 1), view: &client.View{State: client.StateConnecting}}
}

func (s *fakeSession) Run(ctx context.Context) error {
	s.world.do(func() { s.running = true; s.world.sessions[s] = true })
	<-ctx.Done()
	s.world.do(func() { delete(s.world.sessions, s) })

	return nil
}

func (s *fakeSession) Publish(l *client.Local)  { s.world.do(func() { s.local = l }) }
func (s *fakeSession) SetWatch(on bool)         { s.world.do(func() { s.watch = on }) }
func (s *fakeSession) Changed() <-chan struct{} { return s.changed }

func (s *fakeSession) View() *client.View {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()

	return s.view
}

func (w *world) isDown(endpoint string) bool {
	return w.down[endpoint] || !w.carriers && strings.HasSuffix(endpoint, ":50002")
}

// do changes the world, and then tells all sessions.
func (w *world) do(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()

	change()

	for s := range w.sessions {
		at := s.options.Endpoint

		switch {
		case w.isDown(at):
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
	case !s.watch:
		return &client.View{State: client.StatePublishing}
	}

	view := &client.View{State: client.StateWatching, Complete: true, Affiliates: map[string]client.Affiliate{}}

	for id, l := range w.said[at] {
		if id != s.options.AffiliateID {
			view.Affiliates[id] = client.Affiliate{ID: id, Affiliate: l.Affiliate, Endpoints: l.Endpoints, Revision: l.Revision}
		}
	}

	maps.Copy(view.Affiliates, w.lies[at])

	return view
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

// memberNames waits until the members are those.
func wantMembers(t *testing.T, n *controllertest.Node, want ...string) {
	t.Helper()

	var got []string

	for range 600 {
		all, err := typed.List[cluster.MemberSpec](t.Context(), n, "")
		if err != nil {
			t.Fatal(err)
		}

		got = nil
		for _, m := range all {
			got = append(got, m.Metadata().ID())
		}

		if slices.Equal(got, want) {
			return
		}

		time.Sleep(time.Second)
	}

	t.Fatalf("members (-want +got):\n%s", cmp.Diff(want, got))
}

// TestMembers: machines find each other, change to another source, and end quiet.
func TestMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		a, _ := machine(t, w, "a", t.TempDir())

		b, _ := machine(t, w, "b", t.TempDir())

		wantMembers(t, a, "node-a", "node-b")
		wantMembers(t, b, "node-a", "node-b")

		for _, at := range []string{first, second} {
			if got := w.knows(at); got != "a b" {
				t.Errorf("%s: got %q, want both machines", at, got)
			}
		}

		endpoints := controllertest.Wait(a, k8s.EndpointDiscoveryID, func(e k8s.EndpointSpec) bool { return len(e.Addresses) == 2 })
		if want := []netip.Addr{netip.MustParseAddr("172.20.0.97"), netip.MustParseAddr("172.20.0.98")}; !slices.Equal(endpoints.Addresses, want) {
			t.Errorf("endpoints: got %v, want %v", endpoints.Addresses, want)
		}

		a.Quiet(30 * time.Second)

		controllertest.Wait(a, "first", func(s cluster.DiscoverySourceSpec) bool { return s.Watched && s.Members == 1 && s.Error == "" })
		controllertest.Wait(a, "second", func(s cluster.DiscoverySourceSpec) bool { return !s.Watched && s.State == client.StatePublishing })

		w.do(func() { w.down[first] = true })
		controllertest.Wait(a, "second", func(s cluster.DiscoverySourceSpec) bool { return s.Watched && s.Members == 1 })
		controllertest.Wait(a, "first", func(s cluster.DiscoverySourceSpec) bool { return s.Error != "" })

		c, _ := machine(t, w, "c", t.TempDir())

		wantMembers(t, c, "node-a", "node-b", "node-c")
		wantMembers(t, a, "node-a", "node-b", "node-c")

		w.do(func() { w.down[second] = true })
		a.Quiet(time.Hour)
		wantMembers(t, a, "node-a", "node-b", "node-c")

		w.do(func() { clear(w.down) })
		time.Sleep(2 * trusted)
		controllertest.Wait(a, "first", func(s cluster.DiscoverySourceSpec) bool { return s.Watched })
		wantMembers(t, a, "node-a", "node-b", "node-c")
		a.Quiet(30 * time.Second)
	})
}

// TestMembersAfterBoot: a machine that boots while no source answers knows the members of before, also with a damaged file, and their control
// planes are sources.
func TestMembersAfterBoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, dir := newWorld(), t.TempDir()

		a, stopA := machine(t, w, "a", dir)
		_, stopB := machine(t, w, "b", t.TempDir())
		_, stopC := machine(t, w, "c", t.TempDir())

		wantMembers(t, a, "node-a", "node-b", "node-c")
		a.Quiet(30 * time.Second)

		revision := w.said[second]["a"].Revision

		stopA()
		stopB()
		stopC()

		w.do(func() { w.down[first], w.down[second] = true, true })

		path := filepath.Join(dir, membersFile)

		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}

		a, stopA = machine(t, w, "a", dir)
		wantMembers(t, a, "node-a", "node-b", "node-c")
		controllertest.Wait(a, "carrier/172.20.0.98", func(s cluster.DiscoverySourceSpec) bool { return s.Error != "" })

		// The same announcement has the same revision, and the file is not written again.
		w.do(func() { clear(w.down) })
		time.Sleep(2 * trusted)
		a.Quiet(30 * time.Second)

		if got := w.said[second]["a"].Revision; got != revision {
			t.Errorf("revision after a restart: got %d, want %d", got, revision)
		}

		stopA()

		if again, err := os.ReadFile(path); err != nil || string(again) != string(content) {
			t.Errorf("the file: got\n%s, %v, want\n%s", again, err, content)
		}

		content[len(content)-3] ^= 1

		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}

		w.do(func() { w.down[first], w.down[second] = true, true })

		a, _ = machine(t, w, "a", dir)

		wantMembers(t, a, "node-a", "node-b")
	})
}

// TestCarriers: with no service outside, machines find each other through the control planes.
func TestCarriers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.carriers, w.down[first], w.down[second] = true, true, true

		a, _ := machine(t, w, "a", t.TempDir())
		wantMembers(t, a, "node-a")

		b, _ := machine(t, w, "b", t.TempDir())
		controllertest.Set(b, k8s.EndpointControlPlane, k8s.EndpointSpec{Addresses: own("a").Addresses})

		wantMembers(t, a, "node-a", "node-b")
		wantMembers(t, b, "node-a", "node-b")
		a.Quiet(30 * time.Second)

		for _, at := range []string{"172.20.0.97:50002", "172.20.0.98:50002"} {
			if got := w.knows(at); got != "a b" {
				t.Errorf("%s: got %q, want both machines", at, got)
			}
		}
	})
}

// TestLies: a source that has old data, machines of others and garbage changes nothing of what another source says newer.
func TestLies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		a, _ := machine(t, w, "a", t.TempDir())

		b, _ := machine(t, w, "b", t.TempDir())

		wantMembers(t, a, "node-a", "node-b")

		moved := own("b")
		moved.Addresses = addrs("172.20.0.200")
		controllertest.Set(b, "b", moved)

		isMoved := func(m cluster.MemberSpec) bool { return slices.Equal(m.Addresses, moved.Addresses) }
		controllertest.Wait(a, "node-b", isMoved)

		lie := func(id string, spec cluster.AffiliateSpec) client.Affiliate {
			l := toWire(spec)

			return client.Affiliate{ID: id, Affiliate: l.Affiliate, Revision: l.Revision}
		}

		old, self, name := own("b"), own("a"), own("x")
		old.Revision, self.Revision = 1, 1<<60
		self.Addresses = addrs("172.20.0.66")
		name.Nodename, name.Addresses = "node-b", addrs("172.20.0.66")

		w.do(func() {
			w.lies[second] = map[string]client.Affiliate{
				"b": lie("b", old), "a": lie("a", self), "x": lie("x", name), "y": lie("z", own("z")),
			}
			w.down[first] = true
		})

		controllertest.Wait(a, "second", func(s cluster.DiscoverySourceSpec) bool { return s.Watched && s.Rejected == 1 })
		a.Quiet(time.Minute)

		for id, want := range map[string]netip.Addr{"node-a": own("a").Addresses[0], "node-b": moved.Addresses[0]} {
			got, err := typed.Get[cluster.MemberSpec](t.Context(), a, "", id)
			if err != nil || len(got.TypedSpec().Addresses) != 1 || got.TypedSpec().Addresses[0] != want {
				t.Errorf("%s: got %v, %v, want %s", id, got, err, want)
			}
		}

		wantMembers(t, a, "node-a", "node-b")
	})
}

// TestLeave: a machine that no longer takes part is forgotten by all sources, and forgets the others.
func TestLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		a, _ := machine(t, w, "a", t.TempDir())

		b, _ := machine(t, w, "b", t.TempDir())

		wantMembers(t, b, "node-a", "node-b")

		controllertest.Set(a, cluster.ConfigID, cluster.ConfigSpec{})
		wantMembers(t, b, "node-b")

		for _, at := range []string{first, second} {
			if got := w.knows(at); got != "b" {
				t.Errorf("%s: got %q, want b alone", at, got)
			}
		}

		wantMembers(t, a, "node-a") // its own affiliate is of another controller

		time.Sleep(2 * farewell)

		w.mu.Lock()
		defer w.mu.Unlock()

		for s := range w.sessions {
			if s.options.AffiliateID == "a" {
				t.Errorf("the session with %s still runs", s.options.Endpoint)
			}
		}
	})
}

// TestEtcdClaims: machines know which others have an etcd.
func TestEtcdClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		a, _ := machine(t, w, "a", t.TempDir())

		b, _ := machine(t, w, "b", t.TempDir())

		claiming := own("b")
		claiming.Etcd = cluster.EtcdAsked
		controllertest.Set(b, "b", claiming)

		controllertest.Wait(a, "b", func(c cluster.EtcdClaimSpec) bool {
			return c.Claim == cluster.EtcdAsked && !c.Local && c.Hostname == "node-b"
		})
		controllertest.Wait(b, "b", func(c cluster.EtcdClaimSpec) bool { return c.Local })

		claiming.Etcd = cluster.EtcdData
		controllertest.Set(b, "b", claiming)
		controllertest.Wait(a, "b", func(c cluster.EtcdClaimSpec) bool { return c.Claim == cluster.EtcdData })

		if _, err := a.Get(t.Context(), resource.PointerOf[cluster.EtcdClaimSpec]("", "a")); !state.IsNotFound(err) {
			t.Errorf("a machine that claims nothing: got %v, want no claim", err)
		}
	})
}
