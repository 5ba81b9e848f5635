// SPDX-License-Identifier: Apache-2.0

package network

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/nstest"
)

// soon is how long links may take to come or to go.
const soon = 2 * time.Second

// TestRealLinksAreSoonThere: links and addresses are there soon after a change of the configuration, and gone soon after another.
func TestRealLinksAreSoonThere(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}

	if !nstest.Isolate(t) {
		return
	}

	const pairs, each = 8, 3 // pairs of links, and addresses of each

	var (
		texts, ports, addresses []string
		links                   = []string{"br0"}
	)

	for n := range pairs {
		var own []string

		for k := range each {
			address := fmt.Sprintf("10.%d.%d.1/24", n, k)
			own = append(own, "{address: "+address+"}")
			addresses = append(addresses, fmt.Sprintf("v%d/%s", n, address))
		}

		texts = append(texts, fmt.Sprintf("VethConfig\nname: v%d\naddresses: [%s]\npeer: {name: p%d}", n, strings.Join(own, ", "), n))
		ports = append(ports, fmt.Sprintf("p%d", n))
		links = append(links, fmt.Sprintf("v%d", n), ports[n])
	}

	texts = append(texts, "BridgeConfig\nname: br0\nlinks: ["+strings.Join(ports, ", ")+"]")

	soonThere(onKernel(t), texts, links, addresses)
}

// TestRealBondIsSoonThere does the same with two bonds that speak LACP with each other, twenty VLANs on one of them, and a VRF. make budgets runs
// it on the kernel of the system; few other kernels of containers have bonds.
func TestRealBondIsSoonThere(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	m := onKernel(t, func(d *Deps) {
		for _, kind := range []string{"bond", "vlan", "vrf"} {
			// The kinds of a VLAN and a VRF need settings: without them a kernel that knows the kind answers EINVAL.
			if err := d.Kernel.CreateLink(netlink.NewLink{Name: "probe", Kind: kind}); errors.Is(err, unix.EOPNOTSUPP) {
				t.Skipf("this kernel has no links of the kind %s", kind)
			} else if err == nil {
				removeLink(t, d.Kernel, "probe")
			}
		}
	})

	var (
		texts, addresses []string
		links            = []string{"bond-near", "bond-far", "vrf-blue"}
	)

	for _, pair := range []string{"a", "b"} {
		texts = append(texts, "VethConfig\nname: near-"+pair+"\npeer: {name: far-"+pair+"}")
		links = append(links, "near-"+pair, "far-"+pair)
	}

	for _, side := range []string{"near", "far"} {
		texts = append(texts, "BondConfig\nname: bond-"+side+"\nlinks: ["+side+"-a, "+side+"-b]\nbondMode: 802.3ad\nmiimon: 100\nlacpRate: fast")
	}

	for n := range 20 {
		name, address := fmt.Sprintf("vlan-%d", n), fmt.Sprintf("192.0.2.%d/30", 4*n+1)
		texts = append(texts, fmt.Sprintf("VLANConfig\nname: %s\nparent: bond-near\nvlanID: %d\naddresses: [{address: %s}]", name, 100+n, address))
		links, addresses = append(links, name), append(addresses, name+"/"+address)
	}

	texts = append(texts, "VRFConfig\nname: vrf-blue\ntable: \"123\"\nlinks: [vlan-0, vlan-1]")

	soonThere(m, texts, links, addresses)
}

// soonThere applies documents and removes them again. In the best of three rounds the links and addresses must be there soon, and gone soon.
func soonThere(m *machine, texts, links, addresses []string) {
	m.t.Helper()

	var there, gone time.Duration

	for round := range 3 {
		started := time.Now()
		m.configure(documents(strings.Join(texts, "\n---\n")))

		for _, link := range links {
			await(m, "", link, func(s network.LinkStatusSpec) bool { return s.LinkState })
		}

		for _, address := range addresses {
			await[network.AddressStatusSpec](m, "", address, nil)
		}

		up := time.Since(started)
		started = time.Now()
		m.configure(plain)

		for _, link := range links {
			awaitGone[network.LinkStatusSpec](m, "", link)
		}

		down := time.Since(started)
		m.t.Logf("%d links with %d addresses are there after %s and gone after %s", len(links), len(addresses), up, down)

		if round == 0 {
			there, gone = up, down
		}

		there, gone = min(there, up), min(gone, down)
	}

	if there > soon || gone > soon {
		m.t.Errorf("the links are there after %s and gone after %s, want at most %s each", there, gone, soon)
	}
}

// removeLink deletes a link by its name.
func removeLink(t *testing.T, k netlink.Kernel, name string) {
	t.Helper()

	links, err := k.Links()
	if err != nil {
		t.Fatal(err)
	}

	for _, l := range links {
		if l.Name == name {
			if err := k.DeleteLink(l.Index); err != nil {
				t.Fatal(err)
			}
		}
	}
}
