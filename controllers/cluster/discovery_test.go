// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/discovery/client"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// wantMembers waits until the members are those.
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

		time.Sleep(2 * trusted) // the second source may have worked first
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

		// The carrier of a was that of an endpoint before it was that of a member.
		controllertest.Wait(b, "carrier/172.20.0.97", func(s cluster.DiscoverySourceSpec) bool { return s.Kind == cluster.SourceMember })

		if len(w.farewells) > 0 {
			t.Errorf("carriers were told to forget %q", w.farewells)
		}
	})
}

// TestServiceChanges: a service with another name or another address may be the one of before, which must not forget the machine.
func TestServiceChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		a, _ := machine(t, w, "a", t.TempDir())

		b, _ := machine(t, w, "b", t.TempDir())

		wantMembers(t, b, "node-a", "node-b")

		changed := settings()
		changed.ServiceEndpoints = []cluster.ServiceEndpoint{{Name: "renamed", Endpoint: first}, {Name: "second", Endpoint: "two-moved.example:443"}}
		controllertest.Set(a, cluster.ConfigID, changed)

		time.Sleep(2 * trusted) // the other one may have worked first
		controllertest.Wait(a, "renamed", func(s cluster.DiscoverySourceSpec) bool { return s.Watched })
		time.Sleep(2 * farewell)

		if len(w.farewells) > 0 {
			t.Errorf("services were told to forget %q", w.farewells)
		}

		// One that is no longer in the configuration is.
		controllertest.Set(a, cluster.ConfigID, func() cluster.ConfigSpec {
			one := changed
			one.ServiceEndpoints = one.ServiceEndpoints[:1]

			return one
		}())

		a.Quiet(30 * time.Second)

		if want := []string{"a at two-moved.example:443"}; !slices.Equal(w.farewells, want) {
			t.Errorf("services were told to forget %q, want %q", w.farewells, want)
		}
	})
}

// TestRevisionIsKept: before a machine announces something, the revision of that is on its disk.
func TestRevisionIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, dir := newWorld(), t.TempDir()
		announced := 0

		w.announced = func(o client.Options, l *client.Local) {
			m, damaged, err := load(filepath.Join(dir, membersFile))
			if announced++; err != nil || damaged > 0 || m.Revision < l.Revision {
				t.Errorf("revision %d is announced at %s, and the disk has %d, %d damaged, %v", l.Revision, o.Endpoint, m.Revision, damaged, err)
			}
		}

		a, _ := machine(t, w, "a", dir)

		for i := range byte(3) {
			moved := own("a")
			moved.Addresses = append(moved.Addresses, netip.AddrFrom4([4]byte{172, 20, 1, i}))
			controllertest.Set(a, "a", moved)
			time.Sleep(100 * time.Millisecond)
		}

		w.mu.Lock()
		defer w.mu.Unlock()

		if announced < 2*3 {
			t.Errorf("%d announcements at two sources, want each of 3 changes", announced)
		}
	})
}

// TestFullDisk: a machine that cannot keep the members knows them nevertheless, and stays connected.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, dir := newWorld(), t.TempDir()

		path := filepath.Join(dir, membersFile)
		if err := os.MkdirAll(filepath.Join(path, "in the way"), 0o700); err != nil {
			t.Fatal(err)
		}

		a, _ := machine(t, w, "a", dir)
		b, _ := machine(t, w, "b", t.TempDir())

		wantMembers(t, a, "node-a", "node-b")
		wantMembers(t, b, "node-a", "node-b")
		time.Sleep(time.Minute)

		opened := w.opened
		time.Sleep(time.Hour)

		if w.opened != opened {
			t.Errorf("%d sessions were opened meanwhile", w.opened-opened)
		}

		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}

		time.Sleep(time.Minute)

		if m, damaged, err := load(path); err != nil || damaged > 0 || len(m.others) != 1 {
			t.Errorf("with room: got %+v, %d damaged, %v", m, damaged, err)
		}

		a.Quiet(time.Minute)
	})
}

// TestRefused: a machine that no source takes in knows the others nevertheless.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		_, _ = machine(t, w, "a", t.TempDir())

		time.Sleep(time.Minute)
		w.do(func() { w.refuses = true })

		b, _ := machine(t, w, "b", t.TempDir())
		wantMembers(t, b, "node-a", "node-b")
		time.Sleep(2 * trusted) // the second source may have worked first
		controllertest.Wait(b, "first", func(s cluster.DiscoverySourceSpec) bool { return s.Watched && s.Error != "" })
		b.Quiet(30 * time.Second)
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
