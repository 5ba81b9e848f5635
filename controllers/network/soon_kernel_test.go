// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/nstest"
)

// TestRealLinksAreSoonThere measures how long after a change of the configuration its links and addresses are there, and how long after another
// they are gone: two seconds at most, in the best of three rounds. The kernel of a virtual machine does the same with a bond (TestNode).
func TestRealLinksAreSoonThere(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}

	if !nstest.Isolate(t) {
		return
	}

	const (
		pairs, each = 8, 3 // pairs of links, and addresses of each
		soon        = 2 * time.Second
	)

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

	m := onKernel(t)

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
		t.Logf("%d links with %d addresses are there after %s and gone after %s", len(links), len(addresses), up, down)

		if round == 0 {
			there, gone = up, down
		}

		there, gone = min(there, up), min(gone, down)
	}

	if there > soon || gone > soon {
		t.Errorf("the links are there after %s and gone after %s, want at most %s each", there, gone, soon)
	}
}
