// SPDX-License-Identifier: Apache-2.0

//go:build linux

package k8s

import (
	"strings"
	"testing"
)

// TestDownloadErrors has addresses with what is secret in them, which errors do not show.
func TestDownloadErrors(t *testing.T) {
	for _, address := range []string{"https://user:secret@127.0.0.1:1/", "https://127.0.0.1:1/?token=secret", "https://127.0.0.1:1/%secret"} {
		if _, err := download(t.Context(), address, nil); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want an error without what is secret", address, err)
		}
	}
}
