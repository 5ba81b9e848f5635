// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCrashOutput runs a process that dies of a panic on an unguarded goroutine.
func TestCrashOutput(t *testing.T) {
	const variable = "TALOS_TEST_CRASH"

	if path := os.Getenv(variable); path != "" {
		if err := setCrashOutput(filepath.Join(path, "missing"), filepath.Join(path, "kmsg")); err != nil {
			t.Fatal(err)
		}

		go panic("a fault of a library")
		select {}
	}

	dir := t.TempDir()

	kept := filepath.Join(dir, "kmsg")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), variable+"="+dir)

	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("the process did not die:\n%s", out)
	}

	text, err := os.ReadFile(kept)
	if err != nil || !strings.Contains(string(text), "panic: a fault of a library") || !strings.Contains(string(text), "goroutine ") {
		t.Errorf("kept %q, %v, want the panic and its trace", text, err)
	}
}

func TestNoCrashOutput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing")
	if err := setCrashOutput(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want an error that names %s", err, path)
	}
}
