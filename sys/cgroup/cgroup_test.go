// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cgroup_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-59268b81/talos/sys/cgroup"
)

// A folder replaces the mount: it has the files that the kernel would show.
func TestCreate(t *testing.T) {
	root := t.TempDir()

	for path, content := range map[string]string{
		"cgroup.controllers":        "cpu memory pids misc",
		"system/cgroup.controllers": "cpu memory",
		"system/apid/memory.max":    "max",
		"system/apid/cpu.weight":    "100",
		"system/apid/pids.max":      "max",
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
		"system/apid/pids.max":          "128",
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

// Afterwards the root's processes are in the group, except those that are not in this PID namespace.
func TestVacate(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "cgroup.procs"), []byte("0\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	// The kernel creates this one with the group.
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

// On the real kernel: a group of its own replaces the root of a cgroup namespace.
func TestVacateReal(t *testing.T) {
	root, child := realGroup(t)

	if err := (cgroup.Tree{Root: root}).Vacate(cgroup.Init); err != nil {
		t.Fatal(err)
	}

	want := map[string]string{"cgroup.procs": "", cgroup.Init.Path + "/cgroup.procs": strconv.Itoa(child.Process.Pid)}

	for path, pids := range want {
		if got, err := os.ReadFile(filepath.Join(root, path)); err != nil || strings.TrimSpace(string(got)) != pids {
			t.Errorf("%s: got %q, %v, want %q", path, got, err, pids)
		}
	}
}

// On the real kernel: a process that has left its session is killed with its group.
func TestKillReal(t *testing.T) {
	root, child := realGroup(t)

	if err := (cgroup.Tree{Root: filepath.Dir(root)}).Kill(filepath.Base(root)); err != nil {
		t.Fatal(err)
	}

	if err := child.Wait(); child.ProcessState == nil || child.ProcessState.Exited() {
		t.Errorf("got %v, want a process that was killed", err)
	}

	if err := (cgroup.Tree{Root: t.TempDir()}).Kill("system/apid"); err == nil || !strings.Contains(err.Error(), "system/apid") {
		t.Errorf("no group: got %v, want an error that names it", err)
	}
}

// realGroup returns a group of the kernel with a process in a session of its own, until the test ends.
func realGroup(t *testing.T) (root string, child *exec.Cmd) {
	t.Helper()

	mount := ""

	for _, at := range []string{cgroup.Mount, cgroup.Mount + "/unified"} {
		if _, err := os.Stat(at + "/cgroup.controllers"); err == nil {
			mount = at
		}
	}

	if mount == "" {
		t.Skip("no cgroup2 mount")
	}

	root, err := os.MkdirTemp(mount, "vacate-")
	if err != nil {
		t.Skipf("no cgroup2 mount to write to: %v", err)
	}

	dir, err := os.Open(root)
	if err != nil {
		t.Fatal(err)
	}

	child = exec.CommandContext(t.Context(), "sleep", "60")
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true, UseCgroupFD: true, CgroupFD: int(dir.Fd())}

	t.Cleanup(func() {
		if child.Process != nil {
			child.Process.Kill()
			child.Wait()
		}

		err := os.Remove(filepath.Join(root, cgroup.Init.Path))
		if errors.Is(err, os.ErrNotExist) { // not every test creates it
			err = nil
		}

		if err := errors.Join(err, dir.Close(), os.Remove(root)); err != nil {
			t.Error(err)
		}
	})

	if err := child.Start(); err != nil {
		t.Skipf("no child in a cgroup: %v", err)
	}

	return root, child
}
