// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"math/rand/v2"
	"os"
	"strconv"
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

// TestLongHistory compares a long random history with a model. COSI_TEST_STEPS sets its length, for example 1000000.
func TestLongHistory(t *testing.T) {
	steps, _ := strconv.Atoi(os.Getenv("COSI_TEST_STEPS"))
	seed := rand.Uint64()
	t.Logf("seed %d", seed)

	conformance.RandomHistory(t, memory.New(), seed, max(steps, 20_000))
}
