// SPDX-License-Identifier: Apache-2.0

//go:build linux

package boot

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/nstest"
)

// TestHideSecrets binds over a file of the same name, and over the real one, in a mount namespace of the test's own.
func TestHideSecrets(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	const line = "quiet talos.config.inline=c2VjcmV0 panic=10\n"

	dir := t.TempDir()
	shown, file := filepath.Join(dir, "shown"), filepath.Join(dir, "cmdline")

	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, proc := range []string{file, "/proc/cmdline"} {
		if err := hideSecrets(line, proc, shown); err != nil {
			t.Fatal(err)
		}

		got, err := os.ReadFile(proc)
		if err != nil || string(got) != "quiet talos.config.inline=(redacted) panic=10\n" {
			t.Errorf("%s: got %q, %v", proc, got, err)
		}

		if err := os.WriteFile(proc, []byte(line), 0o600); err == nil {
			t.Errorf("%s can be written", proc)
		}

		if err := unix.Unmount(proc, 0); err != nil {
			t.Fatal(err)
		}

		if err := os.Remove(shown); err != nil {
			t.Fatal(err)
		}
	}

	if err := hideSecrets("quiet panic=10\n", file, shown); err != nil {
		t.Error(err)
	}

	if got, err := os.ReadFile(file); err != nil || !strings.Contains(string(got), "c2VjcmV0") {
		t.Errorf("with nothing to hide: the file was hidden: %q, %v", got, err)
	}
}
