// SPDX-License-Identifier: Apache-2.0

//go:build linux

package k8s

import (
	"strings"
	"testing"
)

// TestManifestNames has addresses with what is secret in them: neither their names nor errors show it.
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
		t.Error("two addresses have one name")
	}

	for _, address := range []string{"https://user:secret@127.0.0.1:1/", "https://127.0.0.1:1/?token=secret", "https://127.0.0.1:1/%secret"} {
		if _, err := download(t.Context(), address, nil); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want an error without what is secret", address, err)
		}
	}
}
