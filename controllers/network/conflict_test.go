// SPDX-License-Identifier: Apache-2.0

package network

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/dhcp4"
	"github.com/seed-59268b81/talos/sys/dhcp6"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/netlink/netlinktest"
	"github.com/seed-59268b81/talos/sys/nic"
)

// pair returns a machine with two cards and a DHCP server for each, with different routers.
func pair() *world {
	w := &world{kernel: &netlinktest.Kernel{Promote: true}, leases: map[string]*dhcp4.Lease{}, leases6: map[string]*dhcp6.Lease{}}
	w.kernel.Plug(netlink.Link{Name: "lo", Type: 772, Flags: 0x8, MTU: 65536})

	for i, net := range []string{"172.20.0.", "172.30.0."} {
		card := ethernet([]string{"eth0", "eth1"}[i], byte(i))
		card.MinMTU, card.MaxMTU = 68, 9000
		w.kernel.Plug(card)
		w.leases[card.Name] = &dhcp4.Lease{
			Address: prefix(net + "2/24"), Server: addr(net + "1"), Routes: []dhcp4.Route{{Destination: prefix("0.0.0.0/0"), Gateway: addr(net + "1")}},
			Renew: time.Hour, Rebind: 2 * time.Hour, Expire: 3 * time.Hour,
		}
	}

	return w
}

func (w *world) index(name string) uint32 {
	links, _ := w.kernel.Links()
	for _, l := range links {
		if l.Name == name {
			return l.Index
		}
	}

	return 0
}

// Two cards, two default routes: both exist, the first card's is preferred, and a card that is removed and added again changes
// nothing for the other.
func TestTwoDefaultRoutes(t *testing.T) {
	w := pair()

	inWorld(t, w, func(m *machine) {
		m.boot("")
		await(m, "", "inet4/172.20.0.1//1024", func(s network.RouteStatusSpec) bool { return s.OutLinkName == "eth0" })
		await(m, "", "inet4/172.30.0.1//1025", func(s network.RouteStatusSpec) bool { return s.OutLinkName == "eth1" })
		await(m, "", "route/inet4/172.30.0.1//1024", func(s network.SpecConditionSpec) bool {
			return s.State == network.SpecApplied && s.Cause == "metric 1025 instead of 1024, which is used by inet4/172.20.0.1//1024"
		})
		await(m, "", "route/inet4/172.20.0.1//1024", func(s network.SpecConditionSpec) bool {
			return s == network.SpecConditionSpec{}
		})

		// Either card may get its lease first: until then the second card's route may have the metric 1024.
		before := len(defaultRouteCalls(w))

		w.kernel.Carrier(w.index("eth0"), false)
		time.Sleep(time.Minute)
		w.kernel.Carrier(w.index("eth0"), true)
		time.Sleep(time.Minute)
		synctest.Wait()

		if calls := defaultRouteCalls(w); len(calls) != before {
			t.Errorf("a card that was removed for a minute: default routes changed\n%s", strings.Join(calls[before:], "\n"))
		}
	})
}

// defaultRouteCalls returns the changes of default routes so far.
func defaultRouteCalls(w *world) []string {
	var calls []string

	for _, c := range w.kernel.Calls() {
		if strings.Contains(c, "Route default") {
			calls = append(calls, c)
		}
	}

	return calls
}

// An impossible spec has a condition, and blocks neither another spec nor a removal.
func TestNobodyIsHeldHostage(t *testing.T) {
	w := pair()

	inWorld(t, w, func(m *machine) {
		const head = "version: v1alpha1\nmachine:\n  type: worker\n  network:\n    interfaces:\n"

		m.boot("")
		m.configure(head + `
      - {interface: dummy1, dummy: true, addresses: [198.51.100.1/32]}
      - {interface: eth1, addresses: [192.0.2.1/24], routes: [{network: 203.0.113.0/24, gateway: 192.0.2.9}]}
`)
		await[network.LinkStatusSpec](m, "", "dummy1", nil)
		await[network.RouteStatusSpec](m, "", "inet4/192.0.2.9/203.0.113.0/24/1024", nil)

		m.configure(head + `
      - {interface: toolongnameeth0, vlans: [{vlanId: 4000}]}
      - {interface: eth0, mtu: 9001, addresses: [192.0.2.7/24], routes: [{gateway: 10.9.9.9}]}
`)
		awaitGone[network.LinkSpecSpec](m, "", "dummy1")
		awaitGone[network.LinkStatusSpec](m, "", "dummy1")
		awaitGone[network.RouteSpecSpec](m, "", "inet4/192.0.2.9/203.0.113.0/24/1024")
		awaitGone[network.AddressSpecSpec](m, "", "eth1/192.0.2.1/24")
		await[network.AddressStatusSpec](m, "", "eth0/192.0.2.7/24", nil)

		for id, want := range map[string]network.SpecConditionSpec{
			"link/toolongnameeth0.4000":    {State: network.SpecRefused, Cause: "the name toolongnameeth0.4000 is longer than the kernel's 15 bytes"},
			"link/eth0":                    {State: network.SpecRefused, Cause: "the driver of link eth0 supports MTUs from 68 to 9000, not 9001"},
			"route/inet4/10.9.9.9//1024":   {State: network.SpecWaiting, Cause: "set route default via 10.9.9.9 dev eth0 metric 1024 table 254: network is unreachable"},
			"address/eth0/192.0.2.7/24":    {},
			"route/inet4/172.30.0.1//1024": {Cause: "metric 1025 instead of 1024, which is used by inet4/10.9.9.9//1024"},
		} {
			await(m, "", id, func(s network.SpecConditionSpec) bool { return s == want })
		}
	})
}

// A step that fails for another reason than the kernel's state is tried again, less and less often.
func TestRefusedIsTriedAgain(t *testing.T) {
	w := pair()
	w.kernel.Fail = func(op string) error {
		if op == "AddAddress" {
			return errBroken
		}

		return nil
	}

	inWorld(t, w, func(m *machine) {
		m.boot("")
		await(m, "", "address/eth0/172.20.0.2/24", func(s network.SpecConditionSpec) bool {
			return s.State == network.SpecRefused && s.Cause == "add address 172.20.0.2/24 to eth0: broken"
		})
		time.Sleep(time.Hour)
		synctest.Wait()

		n := 0

		for _, c := range w.kernel.Calls() {
			if strings.HasPrefix(c, "AddAddress 172.20.0.2") {
				n++
			}
		}

		if n < 60 || n > 80 {
			t.Errorf("got %d tries in an hour, want about one a minute", n)
		}
	})
}

// A step that another program undoes is not repeated endlessly.
func TestNoFight(t *testing.T) {
	w := pair()

	inWorld(t, w, func(m *machine) {
		m.boot("")
		await[network.AddressStatusSpec](m, "", "eth0/172.20.0.2/24", nil)

		for range 1000 {
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()

			if err := w.kernel.DeleteAddress(netlink.Address{LinkIndex: w.index("eth0"), Prefix: prefix("172.20.0.2/24")}); err != nil {
				t.Fatal(err)
			}
		}

		n := 0

		for _, c := range w.kernel.Calls() {
			if strings.HasPrefix(c, "AddAddress 172.20.0.2") {
				n++
			}
		}

		if n > 60 {
			t.Errorf("got %d tries in 100 s against a program that removes the address, want 5 in 10 s", n)
		}

		await(m, "", "address/eth0/172.20.0.2/24", func(s network.SpecConditionSpec) bool { return s.State == network.SpecConflict })
		time.Sleep(time.Minute)
		await(m, "", "address/eth0/172.20.0.2/24", func(s network.SpecConditionSpec) bool { return s.State == network.SpecApplied })
	})
}

// Another address in the same network is added before the first is removed, so that the default route is never lost.
func TestAddressIsReplacedWithoutAGap(t *testing.T) {
	const head = "version: v1alpha1\nmachine:\n  type: worker\n  network:\n    interfaces:\n"

	w := pair()
	w.kernel.Unplug(w.index("eth1"))

	inWorld(t, w, func(m *machine) {
		m.boot("")
		m.configure(head + "      - {interface: eth0, addresses: [192.0.2.2/24], routes: [{gateway: 192.0.2.1}]}\n")
		await[network.RouteStatusSpec](m, "", "inet4/192.0.2.1//1024", nil)
		time.Sleep(time.Minute)

		calls := len(w.kernel.Calls())

		m.configure(head + "      - {interface: eth0, addresses: [192.0.2.3/24], routes: [{gateway: 192.0.2.1}]}\n")
		awaitGone[network.AddressSpecSpec](m, "", "eth0/192.0.2.2/24")
		time.Sleep(time.Minute)
		synctest.Wait()

		want := []string{"AddAddress 192.0.2.3/24 on 2", "DeleteAddress 192.0.2.2/24 on 2"}
		if diff := cmp.Diff(want, w.kernel.Calls()[calls:]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A lease with another address: routes with the old address as their source are replaced before it is removed.
func TestLeaseIsReplacedWithoutAGap(t *testing.T) {
	w := pair()
	w.kernel.Unplug(w.index("eth1"))

	inWorld(t, w, func(m *machine) {
		m.boot("")
		await[network.RouteStatusSpec](m, "", "inet4/172.20.0.1//1024", nil)
		time.Sleep(time.Minute)

		calls := len(w.kernel.Calls())

		w.change(func() {
			moved := *w.leases["eth0"]
			moved.Address = prefix("172.20.0.9/24")
			w.leases["eth0"] = &moved
		})
		time.Sleep(2 * time.Hour)
		synctest.Wait()

		var got []string
		for _, c := range w.kernel.Calls()[calls:] {
			got = append(got, strings.Fields(c)[0])
		}

		if diff := cmp.Diff([]string{"AddAddress", "ReplaceRoute", "DeleteAddress"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A card is probed when its link is new or has changed, not at each event of the kernel.
func TestCardsAreProbedSeldom(t *testing.T) {
	w := pair()
	probes := 0
	kernel := netlink.NewObserver(w.kernel)
	o := linkStatusController(kernel, &Deps{
		Probe: func(string, uint32) nic.Info { probes++; return nic.Info{Driver: "virtio_net"} },
	}).(*observer[network.LinkStatusSpec]) // its own

	look := func() map[string]network.LinkStatusSpec {
		now, err := kernel.Snapshot()
		if err != nil {
			t.Fatal(err)
		}

		return o.observe(now)
	}

	for range 10 {
		if got := look()["eth1"].Driver; got != "virtio_net" {
			t.Errorf("got driver %q", got)
		}
	}

	w.kernel.Carrier(w.index("eth0"), true)
	look()

	if probes != 3 {
		t.Errorf("got %d probes of two cards of which one changed, want 3", probes)
	}
}
