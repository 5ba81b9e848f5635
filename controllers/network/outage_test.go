// SPDX-License-Identifier: Apache-2.0

package network

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/files"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
)

const stableName = "version: v1alpha1\nmachine:\n  type: worker\n---\napiVersion: v1alpha1\nkind: HostnameConfig\nauto: stable\n"

// leased returns a machine with its name and addresses from DHCP.
func leased(t *testing.T, m *machine, w *world) {
	t.Helper()

	w.grant("eth0", "rack-4")
	m.boot("")
	m.configure(stableName)

	if err := typed.Set(t.Context(), m.state, "", cluster.LocalIdentityID, cluster.IdentitySpec{NodeID: "n1"}); err != nil {
		t.Fatal(err)
	}

	for _, id := range []string{files.Hosts, files.ResolvConf} {
		if err := typed.Set(t.Context(), m.state, "", id, files.EtcFileStatusSpec{}); err != nil {
			t.Fatal(err)
		}
	}

	await(m, "", network.HostnameID, func(s network.HostnameStatusSpec) bool { return s.Hostname == "rack-4" })
	await(m, "", network.StatusID, network.StatusSpec.Ready)
	time.Sleep(time.Minute)
	synctest.Wait()
}

// change changes the world while machines run in it.
func (w *world) change(fn func()) {
	w.mu.Lock()
	defer w.mu.Unlock()

	fn()
}

func (w *world) count(n *int) int {
	w.mu.Lock()
	defer w.mu.Unlock()

	return *n
}

// silence makes all servers silent.
func (w *world) silence() {
	w.change(func() {
		clear(w.leases)
		clear(w.leases6)
	})
}

// grant changes the name that the server of a link gives.
func (w *world) grant(link, hostname string) {
	w.mu.Lock()
	defer w.mu.Unlock()

	l := *w.leases[link]
	l.Hostname = hostname
	w.leases[link] = &l
}

// Whatever happens to the DHCP server, the node keeps its name and addresses, and reports that they are not confirmed.
func TestDHCPOutage(t *testing.T) {
	for _, tt := range []struct {
		name, cause string
		begin       func(*world)
	}{
		{"silent for a day", "kept, though expired at ", (*world).silence},
		{"refuses, and is silent", "kept, though refused at ", func(w *world) { w.change(func() { w.refuse = true }); w.silence() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := pair()

			inWorld(t, w, func(m *machine) {
				leased(t, m, w)

				before := strings.Join(versions(m), " ") + hostnameVersion(m)
				calls := len(w.kernel.Calls())

				tt.begin(w)
				time.Sleep(24 * time.Hour)
				synctest.Wait()

				if after := strings.Join(versions(m), " ") + hostnameVersion(m); after != before {
					t.Errorf("got %s, want %s", after, before)
				}

				if did := w.kernel.Calls()[calls:]; len(did) > 0 {
					t.Errorf("got changes of the kernel %v, want none", did)
				}

				for _, id := range []string{"operator/dhcp4/eth0", "operator/dhcp4/eth1"} {
					await(m, "", id, func(s network.SpecConditionSpec) bool {
						return s.State == network.SpecDegraded && strings.HasPrefix(s.Cause, tt.cause)
					})
				}

				await(m, "", network.StatusID, network.StatusSpec.Ready)

				if n := w.count(&w.asked); n > 4000 {
					t.Errorf("asked %d times in a day on two links, want about one a minute", n)
				}

				// The server answers again, with the same lease.
				w.change(func() {
					w.refuse = false
					w.leases = pair().leases
				})

				w.grant("eth0", "rack-4")
				time.Sleep(2 * time.Minute)
				await(m, "", "operator/dhcp4/eth0", func(s network.SpecConditionSpec) bool { return s == network.SpecConditionSpec{} })

				if after := strings.Join(versions(m), " ") + hostnameVersion(m); after != before {
					t.Errorf("when it is back: got %s, want %s", after, before)
				}
			})
		})
	}
}

func hostnameVersion(m *machine) string {
	h, err := typed.Get[network.HostnameStatusSpec](m.t.Context(), m.state, "", network.HostnameID)
	if err != nil {
		m.t.Fatal(err)
	}

	return h.TypedSpec().Hostname + " " + h.Metadata().VersionString()
}

// The name stays when its card is removed, and only a server changes it.
func TestGivenNameStays(t *testing.T) {
	w := pair()

	inWorld(t, w, func(m *machine) {
		leased(t, m, w)

		before := hostnameVersion(m)

		w.kernel.Unplug(w.index("eth0"))
		w.grant("eth1", "another")
		w.kernel.Carrier(w.index("eth1"), false)
		time.Sleep(time.Second)
		w.kernel.Carrier(w.index("eth1"), true)
		time.Sleep(time.Hour)
		synctest.Wait()

		if got := hostnameVersion(m); !strings.HasPrefix(got, "another ") {
			t.Errorf("a server gives another name: got %s", got)
		}

		w.grant("eth1", "")
		time.Sleep(3 * time.Hour)
		synctest.Wait()

		if got := hostnameVersion(m); !strings.HasPrefix(got, "another ") {
			t.Errorf("no server gives a name any more: got %s, want it kept (it was %s)", got, before)
		}

		m.configure("version: v1alpha1\nmachine:\n  type: worker\n  network: {hostname: fixed}\n")
		await(m, "", network.HostnameID, func(s network.HostnameStatusSpec) bool { return s.Hostname == "fixed" })
	})
}

// A card that is removed and added again has its settings, and nothing stale is left.
func TestCardReturns(t *testing.T) {
	for _, tt := range []struct{ name, back string }{{"by its name", "eth0"}, {"by another name", "eth5"}} {
		t.Run(tt.name, func(t *testing.T) {
			w := pair()
			w.leases["eth5"] = w.leases["eth0"]

			inWorld(t, w, func(m *machine) {
				m.boot("")
				await[network.RouteStatusSpec](m, "", "inet4/172.20.0.1//1024", nil)
				time.Sleep(time.Minute)

				links, _ := w.kernel.Links()
				card := links[1]

				w.kernel.Unplug(card.Index)
				awaitGone[network.LinkStatusSpec](m, "", "eth0")
				awaitGone[network.AddressSpecSpec](m, "", "eth0/172.20.0.2/24")
				awaitGone[network.RouteSpecSpec](m, "", "inet4/172.20.0.1//1024")
				awaitGone[network.SpecConditionSpec](m, "", "operator/dhcp4/eth0")
				await(m, "", network.NodeAddressDefaultID, func(s network.NodeAddressSpec) bool { return s.Addresses[0] == prefix("172.30.0.2/24") })

				card.Index, card.Name, card.Flags = 0, tt.back, 0
				w.kernel.Plug(card)
				await[network.AddressStatusSpec](m, "", tt.back+"/172.20.0.2/24", nil)
				await(m, "", "route/inet4/172.20.0.1//1024", func(s network.SpecConditionSpec) bool { return s.State == network.SpecApplied })
				quiet(t, w)

				routes, _ := w.kernel.Routes()
				if n := len(routes); n != 4 { // a connected route and a default route each
					t.Errorf("got %d routes, want 4: %v", n, routes)
				}

				specs, err := typed.List[network.AddressSpecSpec](t.Context(), m.state, network.ConfigNamespaceName)
				if err != nil {
					t.Fatal(err)
				}

				for _, s := range specs {
					if tt.back != "eth0" && s.TypedSpec().LinkName == "eth0" {
						t.Errorf("stale: %s", s.Metadata())
					}
				}
			})
		})
	}
}

// Two cards on one network: each has its address, one default route is preferred, and nothing is changed any more.
func TestTwoCardsOnOneNetwork(t *testing.T) {
	w := pair()
	second := *w.leases["eth0"]
	second.Address = prefix("172.20.0.3/24")
	w.leases["eth1"] = &second

	inWorld(t, w, func(m *machine) {
		m.boot("")
		await[network.AddressStatusSpec](m, "", "eth0/172.20.0.2/24", nil)
		await[network.AddressStatusSpec](m, "", "eth1/172.20.0.3/24", nil)
		quiet(t, w)

		// One card is removed, and the other takes over.
		routes := func() (n int) {
			all, _ := w.kernel.Routes()
			for _, r := range all {
				if !r.Destination.IsValid() {
					n++
				}
			}

			return n
		}

		down := false
		if err := w.kernel.SetLink(w.index("eth0"), netlink.LinkChange{Up: &down}); err != nil {
			t.Fatal(err)
		}

		w.kernel.Unplug(w.index("eth0"))
		time.Sleep(time.Minute)
		synctest.Wait()

		if n := routes(); n != 1 {
			t.Errorf("without the first card: got %d default routes, want 1", n)
		}
	})
}
