// SPDX-License-Identifier: Apache-2.0

package gen_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMachineConfigPatch(t *testing.T) {
	dir := t.TempDir()
	from, to, file := filepath.Join(dir, "from"), filepath.Join(dir, "to"), filepath.Join(dir, "patch")

	if err := errors.Join(
		os.WriteFile(from, []byte("machine:\n    type: worker # here\n"), 0o600),
		os.WriteFile(file, []byte("machine: {token: b}\n"), 0o600),
	); err != nil {
		t.Fatal(err)
	}

	const want = "machine:\n    type: worker # here\n    certSANs:\n        - a\n    token: b\n"

	args := []string{"machineconfig", "patch", from, "-p", `{"machine": {"certSANs": ["a"]}}`, "-p", "@" + file}

	if stdout, _, err := talosctl(t, args...); err != nil || stdout != want {
		t.Errorf("got %q, %v, want %q", stdout, err, want)
	}

	if _, _, err := talosctl(t, append(args, "-o", to)...); err != nil {
		t.Fatal(err)
	}

	if got, err := os.ReadFile(to); err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}

	if _, _, err := talosctl(t, "mc", "patch", from, "-p", "machine: {x: y}"); err == nil || !strings.Contains(err.Error(), "machine.x: unknown key") {
		t.Errorf("bad patch: got %v", err)
	}
}

func TestMachineConfigGen(t *testing.T) {
	stdout, _, err := talosctl(t, "machineconfig", "gen", "demo", "https://10.5.0.2:6443", "-t", "worker", "-o", "-")
	if err != nil || !strings.Contains(stdout, "type: worker") {
		t.Errorf("got %s, %v", stdout, err)
	}
}
