// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"strings"
	"testing"
)

// TestManifestNames checks that names do not show the secrets in addresses.
func TestManifestNames(t *testing.T) {
	for _, tt := range []struct{ address, want string }{
		{"https://example.org/a/b.yaml", "https://example.org/a/b.yaml"},
		{"https://user:secret@example.org/a.yaml", "https://example.org/a.yaml#"},
		{"https://secret@example.org/a.yaml", "https://example.org/a.yaml#"},
		{"https://example.org/a.yaml?token=secret", "https://example.org/a.yaml#"},
	} {
		if got := manifestName(tt.address); !strings.HasPrefix(got, tt.want) || strings.Contains(got, "secret") {
			t.Errorf("%s: got %q, want %q", tt.address, got, tt.want)
		}
	}

	if manifestName("https://h/?a=1") == manifestName("https://h/?a=2") {
		t.Error("two addresses have the same name")
	}
}
