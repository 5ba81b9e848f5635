// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/patch"
	"github.com/seed-59268b81/talos/config/validate"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/state"
)

func TestOwnPatches(t *testing.T) {
	controlPlane, worker := state.Node{Role: state.ControlPlane}, state.Node{Role: state.Worker}
	contained := state.Node{Role: state.Worker, Provisioner: state.Container}

	for _, tt := range []struct {
		name     string
		nodes    []state.Node
		emulated bool
		want     []string
	}{
		{"virtual machines", []state.Node{controlPlane, worker}, false, nil},
		{"an emulated one that is alone", []state.Node{controlPlane, worker}, true, []string{alone}},
		{"emulated, not alone", []state.Node{controlPlane, controlPlane}, true, nil},
		{"a worker in a container", []state.Node{controlPlane, contained}, false, []string{shared}},
		{"both", []state.Node{controlPlane, contained}, true, []string{alone, shared}},
	} {
		got := ownPatches(tt.nodes, tt.emulated, generate.Oldest)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}

		for contract := generate.Oldest; contract <= generate.Newest; contract++ {
			patches, err := patch.Load(ownPatches(tt.nodes, tt.emulated, contract))
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}

			if len(patches) != len(tt.want) {
				t.Errorf("%s for %s: got %d patches, want %d", tt.name, contract, len(patches), len(tt.want))
			}

			opts := generate.Options{Contract: contract, Secrets: configtest.Bundle(t), ControlPlanePatches: patches}

			out, err := generate.New("lab", "https://192.0.2.1:6443", "", opts)
			if err != nil {
				t.Fatalf("%s for %s: %v", tt.name, contract, err)
			}

			cfg, err := config.Decode(out.ControlPlane)
			if err != nil {
				t.Fatal(err)
			}

			conflicts(t, cfg)

			manager, _ := view.Of(cfg).ControllerManager()
			if got, want := len(manager.ExtraArgs) > 0, slices.Contains(tt.want, alone); got != want {
				t.Errorf("%s for %s: no leader election: got %t, want %t", tt.name, contract, got, want)
			}

			if got, want := len(view.Of(cfg).Proxy().ExtraArgs) > 0, slices.Contains(tt.want, shared); got != want {
				t.Errorf("%s for %s: no connection table: got %t, want %t", tt.name, contract, got, want)
			}
		}
	}
}

// TestEndpoint checks that the machines' configurations name the load balancer of a lab with several control planes, and all control planes.
func TestEndpoint(t *testing.T) {
	for controlPlanes, want := range map[int]string{1: "https://10.5.0.2:6443", 3: "https://10.5.0.1:6443"} {
		s, err := lab.Options{
			Name: "demo", StateDir: t.TempDir(), ControlPlanes: controlPlanes, Provisioner: state.Container,
			Image: lab.Image{Root: "/", Cache: "/"},
		}.Plan()
		if err != nil {
			t.Fatal(err)
		}

		made, err := configurations(s, false, "", Options(0, true))
		if err != nil {
			t.Fatal(err)
		}

		cfg, err := config.Decode(made.ControlPlane)
		if err != nil {
			t.Fatal(err)
		}

		if got := view.Of(cfg).Endpoint().String(); got != want {
			t.Errorf("%d control planes: got endpoint %s, want %s", controlPlanes, got, want)
		}

		for _, n := range s.Nodes {
			if !slices.Contains(view.Of(cfg).APIServer().CertSANs, n.Addr.String()) {
				t.Errorf("%d control planes: %s is not in the API server's certificate", controlPlanes, n.Addr)
			}
		}
	}
}

// conflicts finds keys that a document sets too.
func conflicts(t *testing.T, cfg *config.Config) {
	t.Helper()

	_, err := validate.Validate(cfg, validate.Metal)

	var findings validate.Findings

	errors.As(err, &findings)

	for _, f := range findings {
		if strings.Contains(f.Text, "sets this too") {
			t.Errorf("%v", f)
		}
	}
}
