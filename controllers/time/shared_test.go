// SPDX-License-Identifier: Apache-2.0

//go:build linux

package time_test

import (
	"testing"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	timectl "github.com/seed-59268b81/talos/controllers/time"
	timeres "github.com/seed-59268b81/talos/resources/time"
	"github.com/seed-59268b81/talos/sys/platform"
)

// A clock of the host is not set here, and can be used at once.
func TestSharedClock(t *testing.T) {
	for mode, want := range map[platform.Mode]bool{platform.Metal: true, platform.Container: false} {
		sets := false

		for _, c := range timectl.Controllers(platform.Platform{Mode: mode}) {
			_, is := c.(*timectl.SyncController)
			sets = sets || is
		}

		if sets != want {
			t.Errorf("%s: the clock is set: got %t, want %t", mode, sets, want)
		}
	}

	n := controllertest.Start(t, timectl.SharedClockController())
	controllertest.Wait(n, timeres.StatusID, func(s timeres.StatusSpec) bool { return s.Usable() && s.Synced && s.SyncDisabled })
}
