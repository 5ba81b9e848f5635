// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cgroup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/sys/cgroup"
)

// A folder stands for the mount: it has the files that the kernel would show.
func TestCreate(t *testing.T) {
	root := t.TempDir()

	for path, content := range map[string]string{
		"cgroup.controllers":        "cpu memory pids misc",
		"system/cgroup.controllers": "cpu memory",
		"system/apid/memory.max":    "max",
		"system/apid/cpu.weight":    "100",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(filepath.Join(root, path), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	if err := (cgroup.Tree{Root: root}).Create(cgroup.System, cgroup.Apid); err != nil {
		t.Fatal(err)
	}

	for path, want := range map[string]string{
		"cgroup.subtree_control":        "+cpu +memory +pids",
		"system/cgroup.subtree_control": "+cpu +memory",
		"system/apid/memory.max":        "134217728",
		"system/apid/cpu.weight":        "500",
	} {
		got, err := os.ReadFile(filepath.Join(root, path))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %q (%v), want %q", path, got, err, want)
		}
	}

	err := (cgroup.Tree{Root: t.TempDir()}).Create(cgroup.System)
	if err == nil || !strings.Contains(err.Error(), "cgroup.controllers") {
		t.Errorf("no cgroup2 mount: got %v, want an error naming cgroup.controllers", err)
	}
}

// The root's processes are in the group afterwards, but for those that this PID namespace does not show.
func TestVacate(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "cgroup.procs"), []byte("0\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	// The kernel makes this one with the group.
	if err := os.Mkdir(filepath.Join(root, cgroup.Init.Path), 0o755); err != nil {
		t.Fatal(err)
	}

	procs := filepath.Join(root, cgroup.Init.Path, "cgroup.procs")
	if err := os.WriteFile(procs, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	if err := (cgroup.Tree{Root: root}).Vacate(cgroup.Init); err != nil {
		t.Fatal(err)
	}

	if got, err := os.ReadFile(procs); err != nil || string(got) != "1" {
		t.Errorf("got %q, %v, want process 1", got, err)
	}

	if err := (cgroup.Tree{Root: t.TempDir()}).Vacate(cgroup.Init); err == nil {
		t.Error("a root without cgroup.procs: got no error")
	}
}
