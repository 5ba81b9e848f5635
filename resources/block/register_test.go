// SPDX-License-Identifier: Apache-2.0

package block_test

import (
	"testing"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/block"
)

// TestRegister holds that each type has a wire form: its field numbers are unique, and the types of its fields are supported.
func TestRegister(t *testing.T) {
	before := len(resource.RegisteredTypes())

	if err := block.Register(); err != nil {
		t.Fatal(err)
	}

	if got, want := len(resource.RegisteredTypes())-before, 11; got != want {
		t.Errorf("got %d types registered, want %d", got, want)
	}
}

func TestPrettySize(t *testing.T) {
	for bytes, want := range map[uint64]string{
		0: "0 B", 999: "999 B", 1 << 20: "1.0 MB", 100 << 20: "105 MB", 2 << 30: "2.1 GB", 10 << 30: "11 GB",
		9_999_999: "10 MB",
	} {
		if got := block.PrettySize(bytes); got != want {
			t.Errorf("PrettySize(%d) = %q, want %q", bytes, got, want)
		}
	}
}

func TestEnum(t *testing.T) {
	var p block.VolumePhase

	if err := p.UnmarshalText([]byte("ready")); err != nil || p != block.VolumePhaseReady {
		t.Errorf("got %v, %v, want ready", p, err)
	}

	if err := p.UnmarshalText([]byte("redy")); err == nil {
		t.Error("an unknown phase was accepted")
	}
}
