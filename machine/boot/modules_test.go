// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"slices"
	"testing"

	"github.com/seed-59268b81/talos/sys/cmdline"
)

func TestModuleLines(t *testing.T) {
	got := moduleLines("/modules/watchdog.ko\n\n/modules/softdog.ko soft_panic=1 soft_margin=60\n")
	want := []moduleFile{{"/modules/watchdog.ko", ""}, {"/modules/softdog.ko", "soft_panic=1 soft_margin=60"}}

	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}

	if name := got[1].name(); name != SoftwareWatchdog {
		t.Errorf("got %q, want %q", name, SoftwareWatchdog)
	}
}

func TestWantsWatchdog(t *testing.T) {
	for line, want := range map[string]bool{
		"panic=10 talos.watchdog=on quiet": true, "": true, "panic=0": false, "panic=10 talos.watchdog=off": false,
	} {
		if got := WantsWatchdog(cmdline.Parse(line)); got != want {
			t.Errorf("%q: got %t, want %t", line, got, want)
		}
	}
}
