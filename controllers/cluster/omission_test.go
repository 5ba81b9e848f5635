// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// TestOmission: a watched source that leaves machines out, at once or from the start of the session, changes nothing while another source has
// them.
func TestOmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, dir := newWorld(), t.TempDir()

		a, stop := machine(t, w, "a", dir)
		b, _ := machine(t, w, "b", t.TempDir())
		_, _ = machine(t, w, "c", t.TempDir())

		wantMembers(t, a, "node-a", "node-b", "node-c")
		time.Sleep(2 * trusted) // the second source may have worked first

		if len(w.asked) > 0 {
			t.Errorf("%q were asked without a reason", w.asked)
		}

		w.do(func() { w.hides[first] = "b c" })
		controllertest.Wait(a, "first", func(s cluster.DiscoverySourceSpec) bool { return s.Watched && s.Members == 0 })
		time.Sleep(2 * time.Hour)
		wantMembersNow(t, a, "node-a", "node-b", "node-c")

		w.do(func() {
			if n := len(w.asked); n < 20 || n > 80 || slices.Contains(w.asked, first) { // by three machines
				t.Errorf("in two hours %d questions were asked: %q", n, w.asked)
			}
		})

		// A machine that restarts remembers them.
		stop()

		a, _ = machine(t, w, "a", dir)
		wantMembers(t, a, "node-a", "node-b", "node-c")
		time.Sleep(2 * trusted)
		controllertest.Wait(a, "first", func(s cluster.DiscoverySourceSpec) bool { return s.Watched && s.Members == 0 })
		time.Sleep(2 * late)
		wantMembersNow(t, a, "node-a", "node-b", "node-c")

		// What leaves is gone.
		controllertest.Set(b, cluster.ConfigID, cluster.ConfigSpec{})
		wantMembers(t, a, "node-a", "node-c")
	})
}

func wantMembersNow(t *testing.T, n *controllertest.Node, want ...string) {
	t.Helper()
	synctest.Wait()

	began := time.Now()
	if wantMembers(t, n, want...); time.Since(began) > 0 {
		t.Errorf("the members were others for %s", time.Since(began))
	}
}

// TestObservedAddress: the address at which a source sees this machine is a resource.
func TestObservedAddress(t *testing.T) {
	one, _ := service(t, "127.0.0.1:0")

	spec := settings()
	spec.ServiceEndpoints = []cluster.ServiceEndpoint{{Name: "one", Endpoint: one, Insecure: true}}

	dir := t.TempDir()
	n := controllertest.Start(t, stateVolume(dir), discoveryServiceController(Deps{Root: dir, Open: System.Open}))

	controllertest.Set(n, cluster.LocalIdentityID, cluster.IdentitySpec{NodeID: "a"})
	controllertest.Set(n, secrets.OSRootID, secrets.OSRootSpec{})
	controllertest.Set(n, cluster.ConfigID, spec)

	// A session says hello when it has something to announce.
	controllertest.Set(n, "a", own("a"))

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	seen, err := typed.WatchFor(ctx, n.State, cluster.NamespaceName, cluster.ObservedAddressID, func(*resource.Typed[network.AddressStatusSpec]) bool { return true })
	if err != nil || seen.TypedSpec().Address != netip.MustParsePrefix("127.0.0.1/32") || seen.TypedSpec().Family != nethelpers.FamilyInet4 {
		t.Fatalf("got %v, %v", seen, err)
	}

	controllertest.Set(n, cluster.ConfigID, cluster.ConfigSpec{})

	for {
		left, err := typed.Find[network.AddressStatusSpec](ctx, n, cluster.NamespaceName, cluster.ObservedAddressID)
		if err != nil {
			t.Fatal(err)
		}

		if left == nil {
			return
		}

		time.Sleep(10 * time.Millisecond)
	}
}

// TestDialFirst: a control plane is reached at any of its addresses.
func TestDialFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tried []string

		dial := func(ctx context.Context, address string) (net.Conn, error) {
			tried = append(tried, address)

			switch address {
			case "silent":
				<-ctx.Done()

				return nil, ctx.Err()
			case "refuses":
				return nil, errors.New("connection refused")
			default:
				one, two := net.Pipe()
				two.Close()

				return one, nil
			}
		}

		began := time.Now()

		conn, err := dialFirst(t.Context(), []string{"silent", "refuses", "open", "never"}, dial)
		if err != nil {
			t.Fatal(err)
		}

		conn.Close()

		if got := strings.Join(tried, " "); got != "silent refuses open" || time.Since(began) != addressTimeout {
			t.Errorf("tried %s in %s", got, time.Since(began))
		}

		if _, err := dialFirst(t.Context(), []string{"refuses", "silent"}, dial); err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("got %v, want both errors", err)
		}
	})
}

func TestOtherAddresses(t *testing.T) {
	plane := func(addresses ...string) cluster.MemberSpec {
		return cluster.MemberSpec{MachineType: config.TypeControlPlane, Addresses: addrs(addresses...)}
	}

	worker := plane("10.0.0.9", "10.0.1.9")
	worker.MachineType = config.TypeWorker

	got := otherAddresses([]cluster.MemberSpec{plane("10.0.0.1", "fd00::1"), plane("10.0.0.2"), worker})
	if want := []string{"10.0.0.1:50002", "[fd00::1]:50002"}; len(got) != 1 || !slices.Equal(got[want[0]], want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
