// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"testing"

	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/state"
)

// TestMyStore shows how to test another store against the contract: the suite gets a new, empty store for each of its tests.
func TestMyStore(t *testing.T) {
	conformance.Run(t, func(*testing.T) state.State { return memory.New() })
}
