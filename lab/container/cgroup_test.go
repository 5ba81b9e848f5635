// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLimitsWhereTheControllersAre checks that a limit is written only to the file of the existing cgroup version.
func TestLimitsWhereTheControllersAre(t *testing.T) {
	tests := []struct {
		name   string
		limits Limits
		files  []string
		want   map[string]string
	}{
		{"v2", Limits{MemoryMiB: 256, CPUs: 2}, []string{"memory.max", "cpu.max"}, map[string]string{"memory.max": "268435456", "cpu.max": "200000 100000"}},
		{"v1, memory", Limits{MemoryMiB: 256, CPUs: 2}, []string{"memory.limit_in_bytes"}, map[string]string{"memory.limit_in_bytes": "268435456"}},
		{"v1, processors", Limits{MemoryMiB: 256, CPUs: 2}, []string{"cpu.cfs_quota_us"}, map[string]string{"cpu.cfs_quota_us": "200000"}},
		{"processes", Limits{Processes: 1000}, []string{"pids.max", "memory.max"}, map[string]string{"pids.max": "1000", "memory.max": ""}},
		{"none wanted", Limits{}, []string{"memory.max", "cpu.max"}, map[string]string{"memory.max": "", "cpu.max": ""}},
		{"none there", Limits{MemoryMiB: 256, CPUs: 2}, nil, map[string]string{}},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, file := range tt.files {
				if err := os.WriteFile(filepath.Join(dir, file), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}

			if err := tt.limits.set(dir); err != nil {
				t.Fatal(err)
			}

			if d := cmp.Diff(tt.want, contents(t, dir)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestV2 creates the cgroups of a lab on a folder that looks like cgroup v2.
func TestV2(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		t.Helper()

		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	const all = "cpuset cpu io memory pids"

	// The kernel creates these files with the folders.
	for _, dir := range []string{".", "talos-lab-x", "talos-lab-x/one"} {
		write(dir+"/cgroup.controllers", all)
		write(dir+"/cgroup.subtree_control", "")
		write(dir+"/cgroup.procs", "")
	}

	write("cgroup.subtree_control", all)

	c := &Cgroups{all: []hierarchy{{v2: true, mount: root, own: root}}, name: "talos-lab-x"}
	if err := c.Create(); err != nil {
		t.Fatal(err)
	}

	if err := c.Machine("one").create(Limits{}); err != nil {
		t.Fatal(err)
	}

	if c.V1() {
		t.Error("a whole cgroup v2 was taken for v1")
	}

	// A real file of this name enables one controller with each write.
	if got := contents(t, filepath.Join(root, "talos-lab-x"))["cgroup.subtree_control"]; got != "+pids" {
		t.Errorf("got %q as the last controller enabled, want +pids", got)
	}

	if got := contents(t, root)["cgroup.subtree_control"]; got != all {
		t.Errorf("the root's own controllers were changed to %q", got)
	}

	if d := cmp.Diff([]CgroupMount{{Dir: filepath.Base(root), Type: "cgroup2"}}, c.Machine("one").mounts()); d != "" {
		t.Errorf("mounts (-want +got):\n%s", d)
	}
}

// contents returns the files of a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()

	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}

	found := map[string]string{}

	for _, e := range entries {
		if e.IsDir() {
			continue
		}

		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}

		found[e.Name()] = string(text)
	}

	return found
}
