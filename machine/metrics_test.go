// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"testing"

	"github.com/seed-59268b81/talos/cosi/introspect"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// TestMetricsAreShown: clients find the type of the metrics and read them like other resources, but the state does not contain them.
func TestMetricsAreShown(t *testing.T) {
	st := memory.New()
	if err := registerDefinitions(t.Context(), st); err != nil {
		t.Fatal(err)
	}

	m := &Machine{State: st, metrics: func() []runtime.Metrics { return []runtime.Metrics{{Controller: "c", Wakeups: 3}} }}
	shown := m.shown()

	if _, err := typed.Get[meta.ResourceDefinitionSpec](t.Context(), shown, "", "controllermetrics.meta.cosi.dev"); err != nil {
		t.Error(err)
	}

	got, err := typed.Get[introspect.ControllerMetricsSpec](t.Context(), shown, "", "c")
	if err != nil || got.TypedSpec().Wakeups != 3 {
		t.Errorf("got %v (%v), want 3 wake-ups", got, err)
	}

	if left, err := typed.List[introspect.ControllerMetricsSpec](t.Context(), st, ""); err != nil || len(left) > 0 {
		t.Errorf("the state has %d metrics (%v), want none", len(left), err)
	}
}
