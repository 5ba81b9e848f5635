// SPDX-License-Identifier: Apache-2.0

package network

import (
	"errors"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/platform"
)

// openVeth opens the real kernel of an isolated test, and creates a pair of links, which are down.
func openVeth(t *testing.T, p platform.Platform, name, peer string) (deps *Deps, own, other netlink.Link) {
	t.Helper()

	deps, closeDeps, err := Open(p)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = closeDeps() })

	if err := deps.Kernel.CreateLink(netlink.NewLink{Name: name, Kind: "veth", VethPeer: peer}); err != nil {
		if errors.Is(err, unix.EOPNOTSUPP) {
			t.Skip("this kernel has no veth")
		}

		t.Fatal(err)
	}

	links, err := deps.Kernel.Links()
	if err != nil {
		t.Fatal(err)
	}

	named := func(name string) netlink.Link {
		return links[slices.IndexFunc(links, func(l netlink.Link) bool { return l.Name == name })]
	}

	return deps, named(name), named(peer)
}

// onRealKernel starts the controllers on the kernel of the test's network namespace.
func onRealKernel(t *testing.T) (*machine, *Deps) {
	t.Helper()

	deps, closeDeps, err := Open(platform.Platform{})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = closeDeps() })

	m := &machine{t: t, patience: patience, state: memory.New()}
	run(t, m.state, Controllers(deps))
	m.boot("")

	return m, deps
}
