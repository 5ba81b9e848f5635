// SPDX-License-Identifier: Apache-2.0

package kubeaccess_test

import (
	"testing"

	"github.com/seed-59268b81/talos/resources/kubeaccess"
)

// TestRegister checks that the type can be encoded and decoded.
func TestRegister(t *testing.T) {
	if err := kubeaccess.Register(); err != nil {
		t.Fatal(err)
	}
}
