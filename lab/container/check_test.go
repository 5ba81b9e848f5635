// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckNamesWhatIsMissing checks that each missing part is named with the command that adds it.
func TestCheckNamesWhatIsMissing(t *testing.T) {
	cgroup := func(t *testing.T, files map[string]string) string {
		dir := t.TempDir()
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}

		return dir
	}

	tests := []struct {
		name  string
		check func(t *testing.T) error
		want  []string
	}{
		{
			"a full disk",
			func(t *testing.T) error {
				return Needs{Dir: filepath.Join(t.TempDir(), "not/yet"), Space: 1 << 60}.space()
			},
			[]string{"free space", "machines need 1.0 EiB", "--state"},
		},
		{
			"no newuidmap",
			func(t *testing.T) error {
				t.Setenv("PATH", t.TempDir())

				return findProgram("newuidmap")
			},
			[]string{"newuidmap is not installed", "apt-get install uidmap"},
		},
		{
			"no unsquashfs",
			func(t *testing.T) error {
				t.Setenv("PATH", t.TempDir())

				return findProgram("unsquashfs")
			},
			[]string{"unsquashfs is not installed", "apt-get install squashfs-tools"},
		},
		{
			"a cgroup of v2 that is someone else's",
			func(t *testing.T) error {
				return (&Cgroups{all: []hierarchy{{v2: true, mount: cgroupRoot, own: "/nonexistent"}}}).check()
			},
			[]string{"not delegated", "systemd-run --user --scope -p Delegate=yes"},
		},
		{
			"a cgroup of v1 that is someone else's",
			func(t *testing.T) error {
				return (&Cgroups{all: []hierarchy{{controllers: []string{"cpu"}, mount: cgroupRoot, own: "/nonexistent"}, {v2: true}}}).check()
			},
			[]string{"cannot be delegated", "run this as root", "systemd.unified_cgroup_hierarchy=1"},
		},
		{
			"controllers that are not given on",
			func(t *testing.T) error {
				dir := cgroup(t, map[string]string{"cgroup.procs": "", "cgroup.controllers": "memory pids", "cgroup.subtree_control": "memory pids"})

				return (&Cgroups{all: []hierarchy{{v2: true, mount: dir, own: dir}}}).check()
			},
			[]string{"no controller", "cpu, cpuset"},
		},
		{
			"all that is needed",
			func(t *testing.T) error {
				all := "cpu cpuset io memory pids"
				dir := cgroup(t, map[string]string{"cgroup.procs": "", "cgroup.controllers": all, "cgroup.subtree_control": all})

				return (&Cgroups{all: []hierarchy{{v2: true, mount: dir, own: dir}}}).check()
			},
			nil,
		},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.check(t)
			if (err == nil) != (tt.want == nil) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}

			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want it to hold %q", err, want)
				}
			}
		})
	}
}
