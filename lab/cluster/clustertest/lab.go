// SPDX-License-Identifier: Apache-2.0

package clustertest

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/lab/world"
)

// Lab returns a lab named demo of fake machines: a control plane, and workers.
func Lab(t *testing.T, f *Machine, workers ...*Machine) *lab.Lab {
	t.Helper()

	port := func(addr string) uint16 { return netip.MustParseAddrPort(addr).Port() }

	s := &state.Lab{
		Dir: filepath.Join(t.TempDir(), "demo"), Name: "demo",
		World: world.World{Networks: []world.Network{{
			Name: "lab", Subnet4: netip.MustParsePrefix("10.5.0.0/24"), Gateway4: netip.MustParseAddr("10.5.0.1"),
		}}},
		Nodes: []state.Node{{
			Name: "demo-controlplane-1", Role: state.ControlPlane, Addr: netip.MustParseAddr(f.Addr),
			Cards:   []world.Card{{Network: "lab", MAC: "52:54:0a:05:00:02"}},
			APIPort: port(f.Endpoint()), KubernetesPort: port(f.KubernetesEndpoint()),
		}},
	}
	for i, w := range workers {
		s.Nodes = append(s.Nodes, state.Node{
			Name: fmt.Sprintf("demo-worker-%d", i+1), Role: state.Worker, Addr: netip.MustParseAddr(w.Addr), APIPort: port(w.Endpoint()),
			Cards: []world.Card{{Network: "lab", MAC: fmt.Sprintf("52:54:0a:05:00:%02x", 3+i)}},
		})
	}

	if err := s.Create(); err != nil {
		t.Fatal(err)
	}

	l, err := lab.Open(s.Dir)
	if err != nil {
		t.Fatal(err)
	}

	return l
}
