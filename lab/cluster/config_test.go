// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"testing"

	"github.com/seed-59268b81/talos/config/patch"
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
		got := ownPatches(tt.nodes, tt.emulated)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}

		if _, err := patch.Load(got); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
