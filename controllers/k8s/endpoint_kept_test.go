// SPDX-License-Identifier: Apache-2.0

//go:build linux

package k8s

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// TestKeptEndpoints: a machine that boots knows the API servers of its last life, until one of them tells which there are now.
func TestKeptEndpoints(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, keptFile)

	// boot starts a machine whose configuration has an endpoint that nothing answers at.
	boot := func() *controllertest.Node {
		n := controllertest.Start(t, keptEndpointController(), kubePrismEndpointsController())
		n.Ready(generate.Options{})

		return n
	}

	until := func(what string, done func() bool) {
		t.Helper()

		for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("not %s", what)
			}
		}
	}

	at := func(addresses ...string) (spec k8s.EndpointSpec) {
		for _, a := range addresses {
			spec.Addresses = append(spec.Addresses, netip.MustParseAddr(a))
		}

		return spec
	}

	// upstreams waits until KubePrism has these API servers besides those of the configuration.
	upstreams := func(n *controllertest.Node, want ...string) {
		t.Helper()

		controllertest.Wait(n, k8s.KubePrismEndpointsID, func(s k8s.KubePrismEndpointsSpec) bool {
			var got []string

			for _, e := range s.Endpoints {
				if ip, err := netip.ParseAddr(e.Host); err == nil && ip.Is4() && ip.As4()[0] == 10 && ip.As4()[1] == 9 {
					got = append(got, e.Host)
				}
			}

			return slices.Equal(got, want)
		})
	}

	n := boot()
	n.Mount(keptRequester, block.VolumeState, dir)
	upstreams(n)

	controllertest.Set(n, k8s.EndpointAPIServerID, at("10.9.0.1", "10.9.0.2"))
	n.Mount(keptRequester, block.VolumeState, dir)
	upstreams(n, "10.9.0.1", "10.9.0.2")

	n = boot()
	n.Mount(keptRequester, block.VolumeState, dir)
	upstreams(n, "10.9.0.1", "10.9.0.2")

	controllertest.Set(n, k8s.EndpointAPIServerID, at("10.9.0.2", "10.9.0.3"))
	n.Mount(keptRequester, block.VolumeState, dir)
	upstreams(n, "10.9.0.2", "10.9.0.3")

	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}

	n.Quiet(50 * time.Millisecond)

	if after, err := os.Stat(file); err != nil || !os.SameFile(before, after) {
		t.Errorf("the file was written again: %v", err)
	}

	// A damaged file is as good as none, and is replaced.
	if err := os.WriteFile(file, []byte(`["10.9.0.1","x`), 0o600); err != nil {
		t.Fatal(err)
	}

	n = boot()
	n.Mount(keptRequester, block.VolumeState, dir)
	upstreams(n)

	controllertest.Set(n, k8s.EndpointAPIServerID, at("10.9.0.4"))
	n.Mount(keptRequester, block.VolumeState, dir)
	until("stored again", func() bool {
		text, err := os.ReadFile(file)

		return err == nil && string(text) == `["10.9.0.4"]`
	})
}
