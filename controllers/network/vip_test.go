// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/resources/service"
	"github.com/seed-59268b81/talos/sys/netlink"
)

const (
	vipID      = "vip/eth0/192.0.2.50"
	vipAddress = "eth0/192.0.2.50/32"

	withVIP = `version: v1alpha1
machine: {type: controlplane, network: {interfaces: [{interface: eth0, addresses: [192.0.2.%d/24]}]}}
---
apiVersion: v1alpha1
kind: Layer2VIPConfig
name: 192.0.2.50
link: eth0
`
)

// votes is an election in memory: the first of the queue has won.
type votes struct {
	mu   sync.Mutex
	turn map[string]chan struct{}
}

func (v *votes) elect(ctx context.Context, _ secrets.EtcdRootSpec, _ secrets.EtcdCertsSpec, key string, fn func(context.Context) error) error {
	v.mu.Lock()

	if v.turn == nil {
		v.turn = map[string]chan struct{}{}
	}

	if v.turn[key] == nil {
		v.turn[key] = make(chan struct{}, 1)
	}

	turn := v.turn[key]
	v.mu.Unlock()

	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}

	defer func() { <-turn }()

	return fn(ctx)
}

// announced collects announcements.
type announced struct {
	mu   sync.Mutex
	sent []string
}

func (a *announced) announce(_ context.Context, link uint32, from [6]byte, addr netip.Addr) error {
	a.mu.Lock()
	defer a.mu.Unlock()

	a.sent = append(a.sent, fmt.Sprintf("%d %x %s", link, from, addr))

	return nil
}

func (a *announced) has(text string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()

	return slices.Contains(a.sent, text)
}

// controlPlane starts a machine of which etcd and the kubelet run, and which wants the virtual address.
func controlPlane(t *testing.T, number byte, elect Elect, a *announced, change ...func(*Deps)) *machine {
	t.Helper()

	card := ethernet("eth0", number)
	m := newMachineWith(t, func(d *Deps) {
		d.Elect, d.Announce = elect, a.announce

		for _, c := range change {
			c(d)
		}
	}, card)
	m.boot("")
	m.configure(fmt.Sprintf(withVIP, number))

	m.clusterRuns()

	return m
}

// clusterRuns makes the machine a control plane of which etcd and the kubelet run.
func (m *machine) clusterRuns() {
	put(m, config.MachineTypeID, config.MachineTypeSpec{MachineType: config.TypeControlPlane})
	put(m, etcdServiceID, service.ServiceSpec{Running: true, Healthy: true})
	put(m, secrets.EtcdRootID, secrets.EtcdRootSpec{})
	put(m, secrets.EtcdID, secrets.EtcdCertsSpec{})
	put(m, kubeletServiceID, runtime.LifecycleSpec{})
}

func (m *machine) hasVIP() bool {
	addresses, _ := m.kernel.Addresses()

	return slices.ContainsFunc(addresses, func(a netlink.Address) bool { return a.Prefix == prefix("192.0.2.50/32") })
}

// TestVIP: of two control planes one has the address and announces it. When it goes down it gives the address up first, and the other takes
// it.
func TestVIP(t *testing.T) {
	var (
		v     votes
		tells [2]announced
		both  [2]*machine
	)

	for i := range both {
		both[i] = controlPlane(t, byte(i+1), v.elect, &tells[i])
	}

	holds := func() bool { return both[0].hasVIP() != both[1].hasVIP() }
	both[0].eventually("one machine has the address", holds)

	one, other := 0, 1
	if both[1].hasVIP() {
		one, other = 1, 0
	}

	await(both[one], "", vipAddress, func(a network.AddressStatusSpec) bool { return a.LinkName == "eth0" })
	await(both[one], "", "operator/"+vipID, func(c network.SpecConditionSpec) bool { return c == network.SpecConditionSpec{} })
	await(both[other], "", "operator/"+vipID, func(c network.SpecConditionSpec) bool { return strings.Contains(c.Cause, "another control plane") })
	both[one].eventually("announcement", func() bool { return tells[one].has(fmt.Sprintf("2 5254000000%02x 192.0.2.50", one+1)) })

	kubelet := resource.PointerOf[runtime.LifecycleSpec]("", kubeletServiceID)

	if ready, err := both[one].state.Teardown(t.Context(), kubelet); err != nil || ready {
		t.Fatalf("the shutdown does not wait for the address: ready %t, %v", ready, err)
	}

	both[one].eventually("the shutdown goes on", func() bool {
		ready, err := both[one].state.Teardown(t.Context(), kubelet)
		if err != nil {
			t.Fatal(err)
		}

		return ready
	})

	if both[one].hasVIP() {
		t.Error("the machine that goes down has the address")
	}

	await[network.AddressStatusSpec](both[other], "", vipAddress, nil)
	both[other].eventually("announcement", func() bool { return tells[other].has(fmt.Sprintf("2 5254000000%02x 192.0.2.50", other+1)) })

	// Without the document no machine has it.
	both[other].configure("version: v1alpha1\nmachine: {type: controlplane}\n")
	awaitGone[network.AddressStatusSpec](both[other], "", vipAddress)
	awaitGone[network.SpecConditionSpec](both[other], "", "operator/"+vipID)
	both[other].eventually("the shutdown waits no more", func() bool {
		l, err := typed.Get[runtime.LifecycleSpec](t.Context(), both[other].state, "", kubeletServiceID)
		if err != nil {
			t.Fatal(err)
		}

		return len(l.Metadata().Finalizers()) == 0
	})
}

// TestVIPIsLost: a machine that is not the elected one any more removes the address before another one may add it.
func TestVIPIsLost(t *testing.T) {
	var (
		a    announced
		lose = make(chan context.CancelCauseFunc, 1)
		over = make(chan bool, 1)
		m    *machine
	)

	elections := 0

	elect := func(ctx context.Context, _ secrets.EtcdRootSpec, _ secrets.EtcdCertsSpec, _ string, fn func(context.Context) error) error {
		if elections++; elections > 1 {
			return errors.New("etcd does not answer")
		}

		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)

		lose <- cancel

		err := fn(ctx)
		over <- m.hasVIP()

		return err
	}

	m = controlPlane(t, 1, elect, &a, func(d *Deps) { d.vipRemoval = patience }) // not a test of this computer's speed
	await[network.AddressStatusSpec](m, "", vipAddress, nil)

	(<-lose)(errors.New("the lease was not renewed"))

	if <-over {
		t.Error("the election ended while the machine had the address")
	}

	await(m, "", "operator/"+vipID, func(c network.SpecConditionSpec) bool {
		return c.State == network.SpecWaiting && strings.Contains(c.Cause, "etcd does not answer")
	})
}

// TestVIPWaits: what a machine without an election says.
func TestVIPWaits(t *testing.T) {
	var (
		v votes
		a announced
	)

	m := newMachineWith(t, func(d *Deps) { d.Elect, d.Announce = v.elect, a.announce }, ethernet("eth0", 1))
	m.boot("")
	m.configure(fmt.Sprintf(withVIP, 1))

	waits := func(cause string) {
		t.Helper()

		await(m, "", "operator/"+vipID, func(c network.SpecConditionSpec) bool {
			return c.State == network.SpecWaiting && strings.Contains(c.Cause, cause)
		})
	}

	waits("a worker has no etcd")
	put(m, config.MachineTypeID, config.MachineTypeSpec{MachineType: config.TypeControlPlane})
	waits("etcd is not healthy")
	put(m, secrets.EtcdRootID, secrets.EtcdRootSpec{})
	put(m, secrets.EtcdID, secrets.EtcdCertsSpec{})
	put(m, etcdServiceID, service.ServiceSpec{Running: true})
	waits("etcd is not healthy")
	put(m, etcdServiceID, service.ServiceSpec{Running: true, Healthy: true})
	waits("kubelet")
	m.kernel.Carrier(2, false)
	waits("link eth0 is not up")
	m.kernel.Carrier(2, true)
	put(m, kubeletServiceID, runtime.LifecycleSpec{})
	await[network.AddressStatusSpec](m, "", vipAddress, nil)

	// etcd's health is not the election: the lease decides.
	put(m, etcdServiceID, service.ServiceSpec{Running: true})
	await(m, "", "operator/"+vipID, func(c network.SpecConditionSpec) bool { return c == network.SpecConditionSpec{} })

	m.kernel.Carrier(2, false)
	awaitGone[network.AddressStatusSpec](m, "", vipAddress)
}

// TestVIPIsMoved: the machine that won has a cloud move the address before it adds it; if the cloud refuses, it says so and lets go.
func TestVIPIsMoved(t *testing.T) {
	var (
		v      votes
		a      announced
		refuse = make(chan bool, 1)
		moved  = make(chan network.VIPOperatorSpec, 1)
		m      *machine
	)

	refuse <- true

	m = newMachineWith(t, func(d *Deps) {
		d.Elect, d.Announce = v.elect, a.announce
		d.MoveVIP = func(_ context.Context, vip network.VIPOperatorSpec) error {
			select {
			case <-refuse:
				return errors.New("the token is not valid")
			default:
			}

			if m.hasVIP() {
				t.Error("the machine has the address before the cloud moved it")
			}

			moved <- vip

			return nil
		}
	}, ethernet("eth0", 1))
	m.boot("")
	m.configure(`version: v1alpha1
machine: {type: controlplane, network: {interfaces: [{interface: eth0, addresses: [192.0.2.1/24]}]}}
---
apiVersion: v1alpha1
kind: HCloudVIPConfig
name: 192.0.2.50
link: eth0
apiToken: secret
`)
	m.clusterRuns()

	await(m, "", "operator/"+vipID, func(c network.SpecConditionSpec) bool {
		return c.State == network.SpecWaiting && strings.Contains(c.Cause, "the token is not valid")
	})

	if m.hasVIP() {
		t.Error("the machine has an address that the cloud did not move")
	}

	// A machine that joins the elections does not wait for the pause of an earlier one.
	m.kernel.Carrier(2, false)
	await(m, "", "operator/"+vipID, func(c network.SpecConditionSpec) bool { return strings.Contains(c.Cause, "link eth0 is not up") })
	m.kernel.Carrier(2, true)

	await[network.AddressStatusSpec](m, "", vipAddress, nil)

	if got := <-moved; got.HCloud.APIToken != "secret" || got.IP != addr("192.0.2.50") {
		t.Errorf("got %+v", got)
	}
}

// TestVIPLayers: the documents, and the keys of devices and VLANs; addresses that the API of a cloud moves are not announced.
func TestVIPLayers(t *testing.T) {
	m := newMachine(t, ethernet("eth0", 1))
	m.boot("")
	m.configure(`version: v1alpha1
machine:
  type: worker
  network:
    interfaces:
      - interface: eth0
        vip: {ip: 192.0.2.51}
        vlans: [{vlanId: 7, vip: {ip: "2001:db8::52"}}]
      - interface: eth1
        vip: {ip: 192.0.2.53, hcloud: {apiToken: x}}
        vlans: [{vlanId: 8, vip: {ip: 192.0.2.55, equinixMetal: {apiToken: y}}}]
---
apiVersion: v1alpha1
kind: Layer2VIPConfig
name: 192.0.2.54
link: eth0
---
apiVersion: v1alpha1
kind: HCloudVIPConfig
name: 192.0.2.56
link: eth0
apiToken: z
`)

	for _, id := range []string{"vip/eth0/192.0.2.51", "vip/eth0.7/2001:db8::52", "vip/eth0/192.0.2.54"} {
		await(m, "", id, func(s network.OperatorSpecSpec) bool { return s.Operator == network.OperatorVIP && s.VIP.GratuitousARP })
	}

	for id, want := range map[string]network.VIPOperatorSpec{
		"vip/eth1/192.0.2.53":   {IP: addr("192.0.2.53"), HCloud: network.VIPHCloudSpec{APIToken: "x"}},
		"vip/eth1.8/192.0.2.55": {IP: addr("192.0.2.55"), EquinixMetal: network.VIPEquinixMetalSpec{APIToken: "y"}},
		"vip/eth0/192.0.2.56":   {IP: addr("192.0.2.56"), HCloud: network.VIPHCloudSpec{APIToken: "z"}},
	} {
		await(m, "", id, func(s network.OperatorSpecSpec) bool { return s.VIP == want })
	}
}
