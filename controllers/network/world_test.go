// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/memory"
	cosiruntime "github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/sys/dhcp"
	"github.com/seed-59268b81/talos/sys/dhcp4"
	"github.com/seed-59268b81/talos/sys/dhcp6"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/netlink/netlinktest"
)

var errBroken = errors.New("broken")

// world is a random machine: cards on random networks, with a random configuration.
type world struct {
	*rand.Rand

	cards  int
	mu     sync.Mutex              // of what follows
	leases map[string]*dhcp4.Lease // by link; none is silence
	// leases6 are those of DHCPv6.
	leases6 map[string]*dhcp6.Lease
	kernel  *netlinktest.Kernel
	refuse  bool // by all servers
	asked   int  // of all servers
	panics  int  // of the client, by the next answers
	// router answers solicitations; nil is none.
	router    func(index uint32)
	solicited int
	// arp has the other machines; nil is none.
	arp ARP
}

func newWorld(seed uint64) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 9)), leases: map[string]*dhcp4.Lease{}, leases6: map[string]*dhcp6.Lease{}, kernel: &netlinktest.Kernel{}} // a test must be repeatable
	w.cards = 2 + w.IntN(3)
	w.kernel.Promote = w.IntN(2) == 0
	w.kernel.Plug(netlink.Link{Name: "lo", Type: 772, Flags: 0x8, MTU: 65536})

	for i := range w.cards {
		card := ethernet(fmt.Sprintf("eth%d", i), byte(i))
		card.MinMTU, card.MaxMTU = 68, []uint32{1500, 9000, 65535}[w.IntN(3)]
		card.AltNames = []string{fmt.Sprintf("enp%ds0", i)}
		w.kernel.Plug(card)

		if w.IntN(4) > 0 {
			w.leases[card.Name] = w.lease()
		}

		if w.IntN(2) == 0 {
			w.leases6[card.Name] = &dhcp6.Lease{
				Addresses: []netip.Addr{addr(fmt.Sprintf("2001:db8::%d", 1+w.IntN(3)))}, DNS: []netip.Addr{addr("2001:db8::53")},
				Renew: time.Hour, Rebind: 2 * time.Hour, Expire: 3 * time.Hour,
			}
		}
	}

	return w
}

func (w *world) host() string { return fmt.Sprintf("10.%d.0.%d", w.IntN(3), 1+w.IntN(4)) }

func (w *world) lease() *dhcp4.Lease {
	l := &dhcp4.Lease{
		Address: netip.PrefixFrom(addr(w.host()), []int{24, 16, 32}[w.IntN(3)]), Server: addr(w.host()),
		MTU: []uint32{0, 0, 1400, 9000}[w.IntN(4)], Renew: time.Hour, Rebind: 2 * time.Hour, Expire: 3 * time.Hour,
	}

	for range w.IntN(3) {
		l.Routes = append(l.Routes, dhcp4.Route{Destination: prefix([]string{"0.0.0.0/0", "203.0.113.0/24"}[w.IntN(2)]), Gateway: addr(w.host())})
	}

	return l
}

// configuration returns a random configuration, with typical mistakes.
func (w *world) configuration() string {
	var b strings.Builder

	b.WriteString("version: v1alpha1\nmachine:\n  type: worker\n  network:\n    interfaces:\n      - {interface: lo}\n")

	pick := func(list ...string) string { return list[w.IntN(len(list))] }

	for i := range w.cards + 1 { // one more than exist
		if w.IntN(3) == 0 {
			continue
		}

		fmt.Fprintf(&b, "      - interface: %s\n        dhcp: %t\n", pick(fmt.Sprintf("eth%d", i), fmt.Sprintf("enp%ds0", i)), w.IntN(2) == 0)
		b.WriteString(pick("", "        dhcpOptions: {ipv6: true}\n", "        dhcpOptions: {ipv6: false, routeMetric: 7}\n"))

		if w.IntN(3) == 0 {
			fmt.Fprintf(&b, "        mtu: %s\n", pick("1300", "9000", "1000", "70000"))
		}

		b.WriteString("        addresses:\n")

		for range 1 + w.IntN(3) {
			fmt.Fprintf(&b, "          - %q\n", pick(w.host()+"/24", w.host()+"/16", w.host(), "2001:db8::1/64", "2001:db8::1", "fec0::1/64", "fd00::2/48"))
		}

		b.WriteString("        routes:\n")

		for range 1 + w.IntN(3) {
			fmt.Fprintf(&b, "          - %s\n", pick(
				"{gateway: "+w.host()+"}", "{gateway: 172.31.0.1}", `{gateway: "fe80::1"}`, `{gateway: "2001:db8::ff", metric: 7}`,
				"{network: 203.0.113.0/24}", "{network: 203.0.113.0/24, gateway: "+w.host()+", metric: 5}",
				"{network: 203.0.113.0/24, gateway: "+w.host()+", source: "+w.host()+"}",
			))
		}

		if w.IntN(4) == 0 {
			fmt.Fprintf(&b, "        vlans:\n          - {vlanId: 7, mtu: %s, addresses: [%s/24]}\n", pick("1200", "9000"), w.host())
		}
	}

	if w.IntN(4) == 0 {
		fmt.Fprintf(&b, "      - {interface: br0, bridge: {interfaces: [%s]}, addresses: [%s/24]}\n", pick("eth0", "eth9", "enp1s0"), w.host())
	}

	if w.IntN(4) == 0 {
		fmt.Fprintf(&b, "      - {interface: bond0, bond: {mode: %s, interfaces: [%s]}, addresses: [%s/24], mtu: %s}\n",
			pick("active-backup, primary: eth0", "active-backup, primary: eth9", "802.3ad, lacpRate: fast", "balance-rr, miimon: 50, updelay: 120", "balance-alb"),
			pick("eth0", "eth0, eth1", "eth1, eth9", "enp1s0"), w.host(), pick("1400", "9000"))
	}

	if w.IntN(4) == 0 {
		fmt.Fprintf(&b, "      - {interface: %s, dummy: true, addresses: [%s/24]}\n", pick("dummy0", "dummy-name-is-long", "eth0"), w.host())
	}

	return b.String()
}

// event is a random event of a machine.
func (w *world) event() {
	links, _ := w.kernel.Links()
	l := links[w.IntN(len(links))]

	if !strings.HasPrefix(l.Name, "eth") || l.Kind != "" {
		return
	}

	switch w.IntN(5) {
	case 0:
		w.kernel.Unplug(l.Index)

		if w.IntN(3) > 0 {
			time.Sleep(time.Duration(w.IntN(2000)) * time.Millisecond)

			l.Index, l.Master, l.Flags = 0, 0, 0
			w.kernel.Plug(l)
		}
	case 1:
		w.kernel.Carrier(l.Index, false)
		time.Sleep(time.Duration(w.IntN(2000)) * time.Millisecond)
		w.kernel.Carrier(l.Index, true)
	case 2:
		down := false
		_ = w.kernel.SetLink(l.Index, netlink.LinkChange{Up: &down})
	case 3:
		w.kernel.Advertise(l.Index, []netlink.RouterFlags{0, netlink.RouterManaged, netlink.RouterOtherConfig}[w.IntN(3)], prefix("2001:db8:5::/64"), addr("fe80::ff"))
		w.kernel.AdvertiseOption(netlink.RouterOption{LinkIndex: l.Index, DNSServers: []netip.Addr{addr("2001:db8:5::53"), addr("fe80::53")}, Lifetime: time.Hour})
	case 4:
		w.mu.Lock()
		w.leases[l.Name] = nil
		w.mu.Unlock()
	}
}

// lessor answers at once, or never.
type lessor struct {
	w    *world
	link string
}

func (l lessor) ask(ctx context.Context, question dhcp.Question, _ *dhcp4.Lease, d time.Duration) (*dhcp4.Lease, error) {
	l.w.mu.Lock()
	lease, refuse := l.w.leases[l.link], l.w.refuse
	l.w.asked++
	panics := l.w.panics > 0
	l.w.panics = max(0, l.w.panics-1)
	l.w.mu.Unlock()

	if panics {
		panic("a packet")
	}

	if lease != nil {
		return lease, nil
	}

	if refuse && question != dhcp.Acquire {
		return nil, dhcp4.ErrRefused
	}

	select {
	case <-ctx.Done():
	case <-time.After(d):
	}

	return nil, errors.New("silence")
}

// lessor6 is the same for DHCPv6.
type lessor6 struct {
	w    *world
	link string
}

func (l lessor6) ask(ctx context.Context, question dhcp.Question, _ *dhcp6.Lease, d time.Duration) (*dhcp6.Lease, error) {
	l.w.mu.Lock()
	lease := l.w.leases6[l.link]
	l.w.mu.Unlock()

	if lease == nil {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}

		return nil, errors.New("silence")
	}

	if question == dhcp.Inform {
		other := *lease
		other.Addresses = nil

		return &other, nil
	}

	return lease, nil
}

// solicit makes the world's router answer, if there is one.
func (w *world) solicit(index uint32) error {
	w.mu.Lock()
	router := w.router
	w.solicited++
	w.mu.Unlock()

	if router != nil {
		go router(index)
	}

	return nil
}

// inWorld runs a machine in a world, in virtual time, with more controllers than those of the network where they are given.
func inWorld(t *testing.T, w *world, fn func(m *machine), more ...controller.Controller) {
	t.Helper()

	synctest.Test(t, func(t *testing.T) {
		m := &machine{t: t, patience: 10 * time.Second, state: memory.New(), kernel: w.kernel}
		rt := cosiruntime.New(m.state, slog.New(slog.DiscardHandler))

		for _, c := range slices.Concat(more, Controllers(&Deps{
			Kernel: w.kernel, SetHostname: m.setHostname,
			DHCP4:          func(l *dhcp4.Link) dhcp.Ask[*dhcp4.Lease] { return lessor{w, l.Name}.ask },
			DHCP6:          func(l *dhcp6.Link) dhcp.Ask[*dhcp6.Lease] { return lessor6{w, l.Name}.ask },
			SolicitRouters: w.solicit, ARP: w.arp,
		})) {
			if err := rt.RegisterController(c); err != nil {
				t.Fatal(err)
			}
		}

		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)

		go func() { done <- rt.Run(ctx) }()

		defer func() {
			cancel()

			if err := <-done; err != nil {
				t.Error(err)
			}
		}()

		fn(m)
	})
}
