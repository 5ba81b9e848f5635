// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"os"
	"path/filepath"
	"testing"
)

func TestBackingFile(t *testing.T) {
	sys := t.TempDir()

	dir := filepath.Join(sys, "block/loop1/loop")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(dir, "backing_file"), []byte("/system/a b.erofs\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	for source, want := range map[string]string{
		"/dev/loop1":        "/system/a b.erofs",
		"/dev/loop2":        "", // removed in the meantime
		"/dev/vda1":         "",
		"/var/layer.erofs":  "/var/layer.erofs",
		"tmpfs":             "",
		"/dev/loop1/../x":   "",
		"/dev/mapper/loop1": "",
	} {
		if got := backingFile(sys, source); got != want {
			t.Errorf("%s: got %q, want %q", source, got, want)
		}
	}
}
