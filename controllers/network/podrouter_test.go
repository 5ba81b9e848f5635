// SPDX-License-Identifier: Apache-2.0

//go:build linux

package network

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/controllers/kernel"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/nstest"
	"github.com/seed-59268b81/talos/sys/platform"
)

// setDefaults sets the defaults that the system sets for later links, in this network namespace.
func setDefaults(t *testing.T) {
	t.Helper()

	n := controllertest.Start(t, kernel.ParamDefaultsController())

	for _, param := range []string{"accept_ra", "forwarding"} {
		spec := controllertest.Wait[runtime.KernelParamDefaultSpecSpec](n, "proc.sys.net.ipv6.conf.default."+param, nil)
		if err := os.WriteFile("/proc/sys/net/ipv6/conf/default/"+param, []byte(spec.Value), 0); err != nil {
			t.Skip(err)
		}
	}
}

// On the real kernel: a link of the machine that is added after the defaults were set gets what its router advertises, though the settings
// of the link are applied later.
func TestOwnLinkBelieves(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	setDefaults(t)

	deps, _, router := openVeth(t, platform.Platform{}, "eth0", "router")
	other := nstest.NewNetwork(t)
	other.Take(router.Index)
	other.Do(func() { route6(t, "router") })

	m := &machine{t: t, patience: patience, state: memory.New()}
	run(t, m.state, Controllers(deps))
	m.boot("")
	m.configure("version: v1alpha1\nmachine:\n  type: worker\n  network:\n    interfaces:\n      - {interface: eth0, dhcp: true}\n")

	for _, param := range []string{"accept_ra", "forwarding"} {
		spec := await[runtime.KernelParamDefaultSpecSpec](m, "", "proc.sys.net.ipv6.conf.eth0."+param, nil)

		time.Sleep(200 * time.Millisecond) // as long as a slow machine takes

		if err := os.WriteFile("/proc/sys/net/ipv6/conf/eth0/"+param, []byte(spec.Value), 0); err != nil {
			t.Fatal(err)
		}
	}

	await(m, "", network.NodeAddressDefaultID, func(s network.NodeAddressSpec) bool { return prefix("2001:db8:7::/64").Contains(s.Addresses[0].Addr()) })
}

// On the real kernel: the peer on a link that is added after the defaults were set, such as a pod, does not become the node's router by an
// advertisement. On a link that accepts advertisements it does.
func TestPodIsNoRouter(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	setDefaults(t)

	deps, own, pod := openVeth(t, platform.Platform{}, "cali0", "pod")
	other := nstest.NewNetwork(t)
	other.Take(pod.Index)
	other.Do(func() { route6(t, "pod") })

	up, host := true, own.Index
	if err := deps.Kernel.SetLink(host, netlink.LinkChange{Up: &up}); err != nil {
		t.Fatal(err)
	}

	// believed reports whether the node took an address from an advertisement of the pod.
	believed := func(patience time.Duration) bool {
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
			_ = deps.SolicitRouters(host) // the link has no address yet

			addresses, err := deps.Kernel.Addresses()
			if err != nil {
				t.Fatal(err)
			}

			if slices.ContainsFunc(addresses, func(a netlink.Address) bool { return prefix("2001:db8:7::/64").Contains(a.Prefix.Addr()) }) {
				return true
			}
		}

		return false
	}

	if believed(6 * time.Second) {
		t.Error("the node accepts an advertisement of a pod")
	}

	if err := os.WriteFile("/proc/sys/net/ipv6/conf/cali0/accept_ra", []byte("2"), 0); err != nil {
		t.Fatal(err)
	}

	if !believed(20 * time.Second) {
		t.Error("the pod advertised nothing: the test is not valid")
	}
}
