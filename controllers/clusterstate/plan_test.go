// SPDX-License-Identifier: Apache-2.0

package clusterstate

import (
	"net/netip"
	"testing"

	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/resources/config"
)

func TestPlan(t *testing.T) {
	good := facts{configured: true, machineType: config.TypeControlPlane, credentials: true, runs: true, healthy: true}

	for _, tt := range []struct {
		name   string
		change func(*facts)
		step   step
		class  state.Class
	}{
		{"healthy", func(*facts) {}, stepOpen, state.Unavailable},
		{"the first control plane of an old configuration", func(f *facts) { f.machineType = config.TypeInit }, stepOpen, state.Unavailable},
		{"not healthy", func(f *facts) { f.healthy = false }, stepWait, state.Unavailable},
		{"etcd ended", func(f *facts) { f.runs = false }, stepClose, state.Unavailable},
		{"etcd ended, with its last health", func(f *facts) { f.runs, f.healthy = false, true }, stepClose, state.Unavailable},
		{"no certificate", func(f *facts) { f.credentials = false }, stepClose, state.Unavailable},
		{"no configuration", func(f *facts) { f.configured = false }, stepClose, state.Unavailable},
		{"a worker", func(f *facts) { f.machineType = config.TypeWorker }, stepClose, state.Unsupported},
		{"a worker that was a control plane", func(f *facts) {
			f.machineType, f.controlPlanes = config.TypeWorker, []netip.Addr{netip.MustParseAddr("10.5.0.2")}
		}, stepClose, state.Unsupported},
	} {
		f := good
		tt.change(&f)

		if got, why := plan(f); got != tt.step || why.class != tt.class || why.reason == "" {
			t.Errorf("%s: got %d, %d %q; want %d, %d and a reason", tt.name, got, why.class, why.reason, tt.step, tt.class)
		}
	}
}
