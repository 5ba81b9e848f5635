// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"testing"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// TestProtectionsAreTagged: the reference says of each setting that is refused for what it protects that it is refused.
func TestProtectionsAreTagged(t *testing.T) {
	for _, p := range protections(&v1alpha1.MachineConfig{}) {
		if !document.Protected(&v1alpha1.Config{}, "v1alpha1."+p.path) {
			t.Errorf("%s has no tag protects", p.path)
		}
	}
}
