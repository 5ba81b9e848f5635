// SPDX-License-Identifier: Apache-2.0

package clusterstate_test

import (
	"testing"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/clusterstate"
)

// TestRegister holds that each type has a wire form: its field numbers are unique, and the types of its fields are supported.
func TestRegister(t *testing.T) {
	before := len(resource.RegisteredTypes())

	if err := clusterstate.Register(); err != nil {
		t.Fatal(err)
	}

	if got := len(resource.RegisteredTypes()) - before; got == 0 {
		t.Error("no type was registered")
	}
}
