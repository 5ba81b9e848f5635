// SPDX-License-Identifier: Apache-2.0

package network

import (
	"log/slog"
	"net/netip"
	"slices"
	"testing"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/netlink/netlinktest"
)

// TestPodBridge registers a machine under another name: its Node has other pod subnets. The bridge of its pods is removed, also when a late
// pod creates it again, and no other link is.
func TestPodBridge(t *testing.T) {
	kernel, st := &netlinktest.Kernel{}, memory.New()
	kernel.Plug(ethernet("eth0", 1))

	b := &podBridge{kernel: kernel}

	bridge := func(name, address string) {
		t.Helper()

		if err := kernel.CreateLink(netlink.NewLink{Name: name, Kind: "bridge"}); err != nil {
			t.Fatal(err)
		}

		links, err := kernel.Links()
		if err != nil {
			t.Fatal(err)
		}

		i := slices.IndexFunc(links, func(l netlink.Link) bool { return l.Name == name })

		if err := kernel.AddAddress(netlink.Address{LinkIndex: links[i].Index, Prefix: prefix(address)}); err != nil {
			t.Fatal(err)
		}
	}
	reconcile := func(want ...string) {
		t.Helper()

		if err := b.reconcile(t.Context(), st, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}

		links, err := kernel.Links()
		if err != nil {
			t.Fatal(err)
		}

		var got []string

		for _, l := range links {
			got = append(got, l.Name)
		}

		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("got links %q, want %q", got, want)
		}
	}
	node := func(name string, subnets ...netip.Prefix) {
		t.Helper()

		if err := typed.Set(t.Context(), st, "", name, k8s.NodeStatusSpec{Nodename: name, PodCIDRs: subnets}); err != nil {
			t.Fatal(err)
		}
	}

	first, second := []netip.Prefix{prefix("10.244.0.0/24"), prefix("fd00:244::/64")}, []netip.Prefix{prefix("10.244.1.0/24"), prefix("fd00:244:1::/64")}

	bridge("br0", "10.244.0.9/24") // of the configuration

	if err := typed.Set(t.Context(), st, network.NamespaceName, "br0", network.LinkSpecSpec{Name: "br0"}); err != nil {
		t.Fatal(err)
	}

	reconcile("br0", "eth0")
	node("a", first...)
	reconcile("br0", "eth0")
	bridge("cni0", "10.244.0.1/24")
	reconcile("br0", "cni0", "eth0")

	if err := typed.Destroy[k8s.NodeStatusSpec](t.Context(), st, "", "a"); err != nil {
		t.Fatal(err)
	}

	reconcile("br0", "cni0", "eth0")
	node("b") // Kubernetes has not assigned a subnet yet
	reconcile("br0", "cni0", "eth0")
	node("b", second...)
	reconcile("br0", "eth0")

	bridge("cni0", "fd00:244::1/64")
	reconcile("br0", "eth0")

	bridge("cni0", "10.244.1.1/24")
	node("b", append(slices.Clone(second), prefix("10.244.2.0/24"))...)
	reconcile("br0", "cni0", "eth0")

	node("b", prefix("10.244.1.0/25")) // subnets have another size now
	reconcile("br0", "eth0")
	bridge("cni0", "10.244.1.1/25")
	reconcile("br0", "cni0", "eth0")
}
