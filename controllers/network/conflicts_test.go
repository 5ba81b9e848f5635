// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/acd"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/nstest"
	"github.com/seed-59268b81/talos/sys/platform"
)

// neighbours are other machines on the links: each answers probes for the addresses that it has.
type neighbours struct {
	mu     sync.Mutex
	have   map[netip.Addr][6]byte
	probed int
	seen   chan acd.Use
}

// uses is created where time is virtual.
func (n *neighbours) uses() chan acd.Use {
	n.mu.Lock()
	defer n.mu.Unlock()

	if n.seen == nil {
		n.seen = make(chan acd.Use)
	}

	return n.seen
}

func (n *neighbours) Watch(ctx context.Context, seen func(acd.Use)) error {
	uses := n.uses()

	for {
		select {
		case <-ctx.Done():
			return nil
		case u := <-uses:
			seen(u)
		}
	}
}

func (n *neighbours) Probe(_ context.Context, link uint32, _ [6]byte, addr netip.Addr) error {
	uses := n.uses()

	n.mu.Lock()
	defer n.mu.Unlock()

	n.probed++

	if by, ok := n.have[addr]; ok {
		go func() { uses <- acd.Use{Link: link, Addr: addr, By: by} }()
	}

	return nil
}

func (n *neighbours) set(addr netip.Addr, by *[6]byte) {
	n.mu.Lock()
	defer n.mu.Unlock()

	delete(n.have, addr)

	if by != nil {
		n.have[addr] = *by
	}
}

func (n *neighbours) asked() int {
	n.mu.Lock()
	defer n.mu.Unlock()

	return n.probed
}

// TestAddressConflict: an address that another machine has too is reported while it has it, and is kept; other addresses are not probed again.
func TestAddressConflict(t *testing.T) {
	w, n := pair(), &neighbours{have: map[netip.Addr][6]byte{}}
	w.arp = n
	other := [6]byte{2, 0, 0, 0, 0, 9}
	n.set(addr("172.20.0.2"), &other)

	const id = "conflict/eth0/172.20.0.2"

	inWorld(t, w, func(m *machine) {
		leased(t, m, w)

		want := network.SpecConditionSpec{State: network.SpecConflict, Cause: "the machine with hardware address 02:00:00:00:00:09 has the address too"}
		await(m, "", id, func(s network.SpecConditionSpec) bool { return s == want })
		await(m, "", "address/eth0/172.20.0.2/24", func(s network.SpecConditionSpec) bool { return s.State == network.SpecApplied })

		// A card of this machine that answers on the wrong link is not another machine.
		n.uses() <- acd.Use{Link: w.index("eth1"), Addr: addr("172.30.0.2"), By: [6]byte(ethernet("eth0", 1).Address)}
		n.uses() <- acd.Use{Link: w.index("eth1"), Addr: addr("172.20.0.2"), By: other}

		// The other machine is removed.
		n.set(addr("172.20.0.2"), nil)
		time.Sleep(conflictOver + conflictAgain)
		synctest.Wait()
		awaitGone[network.SpecConditionSpec](m, "", id)

		before := n.asked()
		time.Sleep(24 * time.Hour)
		synctest.Wait()

		if asked := n.asked() - before; asked > 0 {
			t.Errorf("got %d probes in a quiet day, want none", asked)
		}

		// A third machine is added, and announces the address.
		n.set(addr("172.30.0.2"), &other)
		n.uses() <- acd.Use{Link: w.index("eth1"), Addr: addr("172.30.0.2"), By: other}

		await(m, "", "conflict/eth1/172.30.0.2", func(s network.SpecConditionSpec) bool { return s == want })

		// The conflict is reported while it answers.
		time.Sleep(time.Hour)
		synctest.Wait()
		await(m, "", "conflict/eth1/172.30.0.2", func(s network.SpecConditionSpec) bool { return s == want })

		t.Logf("%d probes in a day and an hour with two addresses, of which each was another machine's for a while", n.asked())
	})
}

// On the real kernel: another machine on the link has the configured address.
func TestRealAddressConflict(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	deps, _, peer := openVeth(t, platform.Platform{}, "eth0", "other")
	second := nstest.NewNetwork(t)
	second.Take(peer.Index)
	second.Do(func() {
		k, err := netlink.Open()
		if err != nil {
			t.Error(err)

			return
		}
		defer k.Close()

		up := true
		if err := errors.Join(k.AddAddress(netlink.Address{LinkIndex: peer.Index, Prefix: prefix("192.0.2.7/24")}),
			k.SetLink(peer.Index, netlink.LinkChange{Up: &up})); err != nil {
			t.Error(err)
		}
	})

	m := &machine{t: t, patience: patience, state: memory.New()}
	run(t, m.state, Controllers(deps))
	m.boot("")
	m.configure("version: v1alpha1\nmachine:\n  type: worker\n  network:\n    interfaces:\n      - {interface: eth0, addresses: [192.0.2.7/24, 192.0.2.8/24]}\n")

	await(m, "", "conflict/eth0/192.0.2.7", func(s network.SpecConditionSpec) bool {
		return s.State == network.SpecConflict && strings.Contains(s.Cause, net.HardwareAddr(peer.Address).String())
	})
	await(m, "", "address/eth0/192.0.2.8/24", func(s network.SpecConditionSpec) bool { return s.State == network.SpecApplied })
	time.Sleep(3 * conflictInterval)
	awaitGone[network.SpecConditionSpec](m, "", "conflict/eth0/192.0.2.8")
}
