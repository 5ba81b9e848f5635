// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// TestRemoveOnlyCgroupsOfLabs checks that a path in a damaged file does not end other processes.
func TestRemoveOnlyCgroupsOfLabs(t *testing.T) {
	root := t.TempDir()
	other, own := filepath.Join(root, "system.slice"), filepath.Join(root, "talos-lab-demo")

	for _, dir := range []string{other, own} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	process := exec.CommandContext(t.Context(), "sleep", "600")
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}

	ended := make(chan error, 1)
	go func() { ended <- process.Wait() }()

	t.Cleanup(func() { _ = process.Process.Kill() })

	if err := os.WriteFile(filepath.Join(other, "cgroup.procs"), []byte(strconv.Itoa(process.Process.Pid)), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, dir := range []string{other, "/", "", own + "/../system.slice", filepath.Join(root, "talos-lab-")} {
		if err := RemoveCgroups(own, dir); err == nil {
			t.Errorf("%q: got no error", dir)
		}
	}

	select {
	case err := <-ended:
		t.Errorf("a process that is not the lab's was ended: %v", err)
	default:
	}

	if _, err := os.Stat(own); err != nil {
		t.Errorf("the valid path was removed: %v", err)
	}

	if err := RemoveCgroups(own, filepath.Join(own, "gone")); err != nil {
		t.Error(err)
	}
}
