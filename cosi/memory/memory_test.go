// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"testing"

	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/state"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, func(*testing.T) state.State { return memory.New() })
}

func TestConformanceOfShortHistory(t *testing.T) {
	conformance.Run(t, func(*testing.T) state.State { return memory.New(memory.WithHistory(256)) })
}
