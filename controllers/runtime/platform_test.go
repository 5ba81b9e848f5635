// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime_test

import (
	"testing"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	runtimectl "github.com/seed-59268b81/talos/controllers/runtime"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/platform"
)

// TestPlatform holds that there is a condition for each facility that the machine does not own.
func TestPlatform(t *testing.T) {
	for _, place := range []platform.Platform{
		{},
		{Mode: platform.Container, Limits: platform.Limits{CgroupV1: true}},
	} {
		n := controllertest.Start(t, runtimectl.PlatformController(place))

		for _, c := range place.Conditions() {
			controllertest.Wait[runtime.PlatformConditionSpec](n, string(c.Facility), nil)
		}

		conditions, err := typed.List[runtime.PlatformConditionSpec](t.Context(), n, "")
		if err != nil {
			t.Fatal(err)
		}

		if got, want := len(conditions), len(place.Conditions()); got != want {
			t.Errorf("%s: got %d conditions, want %d", place.Mode, got, want)
		}

		for _, c := range conditions {
			if c.TypedSpec().Applied || c.TypedSpec().Reason == "" || place.Owns(platform.Facility(c.Metadata().ID())) {
				t.Errorf("%s: %s: got %+v", place.Mode, c.Metadata().ID(), *c.TypedSpec())
			}
		}
	}
}
