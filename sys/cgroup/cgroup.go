// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package cgroup creates the cgroup v2 tree of the machine: one group for each service, with reserved memory. The reservations are soft for
// the services (memory.low) and hard for process 1 (memory.min), so that memory is reclaimed from pods before the system.
package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Mount is where cgroup2 is mounted.
const Mount = "/sys/fs/cgroup"

// MiB in bytes.
const MiB = 1 << 20

// Group is one cgroup: its path below the mount and its reservations. Zero means none.
type Group struct {
	Path string
	// Min memory is never reclaimed, Low is reclaimed last, Max is the limit; bytes.
	Min, Low, Max int64
	// PIDs are how many processes and threads there may be.
	PIDs int
	// CPUWeight from 1 to 10000; the kernel's default is 100.
	CPUWeight int
}

// The groups of the system; the paths are those that users know. The API has the highest weight, so that it answers however busy the pods
// are.
var (
	Init    = Group{Path: "init", Min: 96 * MiB, Low: 192 * MiB, CPUWeight: 263}
	System  = Group{Path: "system", Low: 192 * MiB, CPUWeight: 500}
	Runtime = Group{Path: "system/runtime", Low: 96 * MiB, CPUWeight: 209}
	Apid    = Group{Path: "system/apid", Low: 16 * MiB, Max: 128 * MiB, PIDs: 128, CPUWeight: 500}
	Trustd  = Group{Path: "system/trustd", Low: 8 * MiB, Max: 128 * MiB, PIDs: 128, CPUWeight: 39}
	// Discoveryd serves up to 5,000 machines, with a connection each.
	Discoveryd = Group{Path: "system/discoveryd", Low: 8 * MiB, Max: 512 * MiB, PIDs: 128, CPUWeight: 39}
	Udevd      = Group{Path: "system/udevd", Low: 8 * MiB, CPUWeight: 39}
	PodRuntime = Group{Path: "podruntime", CPUWeight: 157}
	Containerd = Group{Path: "podruntime/runtime", Low: 196 * MiB, CPUWeight: 39}
	Etcd       = Group{Path: "podruntime/etcd", Low: 256 * MiB, CPUWeight: 157}
	Kubelet    = Group{Path: "podruntime/kubelet", Low: 96 * MiB, CPUWeight: 39}
	Kubepods   = Group{Path: "kubepods"}
)

// All returns all groups, parents first.
func All() []Group {
	return []Group{Init, System, Runtime, Apid, Trustd, Discoveryd, Udevd, PodRuntime, Containerd, Etcd, Kubelet, Kubepods}
}

// controllers that are delegated down the tree where the kernel has them.
var controllers = []string{"cpuset", "cpu", "io", "memory", "hugetlb", "pids"}

// Tree is a cgroup2 mount; a test points it at a folder.
type Tree struct{ Root string }

// Create creates the groups with their reservations. It is idempotent. It skips controllers that the kernel lacks; any other error names the
// file.
func (t Tree) Create(groups ...Group) error {
	if err := t.enable(""); err != nil {
		return err
	}

	var errs []error

	for _, g := range groups {
		errs = append(errs, t.create(g))
	}

	return errors.Join(errs...)
}

func (t Tree) create(g Group) error {
	if err := os.MkdirAll(filepath.Join(t.Root, g.Path), 0o755); err != nil {
		return fmt.Errorf("create cgroup %s: %w", g.Path, err)
	}

	if parent := filepath.Dir(g.Path); parent != "." {
		if err := t.enable(parent); err != nil {
			return err
		}
	}

	var errs []error

	for _, setting := range []struct {
		file  string
		value int64
	}{{"memory.min", g.Min}, {"memory.low", g.Low}, {"memory.max", g.Max}, {"cpu.weight", int64(g.CPUWeight)}, {"pids.max", int64(g.PIDs)}} {
		if setting.value == 0 {
			continue
		}

		path := filepath.Join(t.Root, g.Path, setting.file)
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			continue // the kernel lacks the controller
		}

		if err := os.WriteFile(path, []byte(strconv.FormatInt(setting.value, 10)), 0); err != nil {
			errs = append(errs, fmt.Errorf("set %s of cgroup %s: %w", setting.file, g.Path, err))
		}
	}

	return errors.Join(errs...)
}

// enable delegates the controllers to the children of a group.
func (t Tree) enable(path string) error {
	have, err := os.ReadFile(filepath.Join(t.Root, path, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("read the controllers of cgroup %q: %w", "/"+path, err)
	}

	var want []string

	for _, c := range controllers {
		if slices.Contains(strings.Fields(string(have)), c) {
			want = append(want, "+"+c)
		}
	}

	err = os.WriteFile(filepath.Join(t.Root, path, "cgroup.subtree_control"), []byte(strings.Join(want, " ")), 0)
	if err != nil {
		return fmt.Errorf("enable %s below cgroup %q: %w", strings.Join(want, " "), "/"+path, err)
	}

	return nil
}

// Vacate creates a group and moves all processes of the root into it. To the kernel the root of a cgroup namespace is a group like any other:
// it delegates no controllers while it has processes.
func (t Tree) Vacate(g Group) error {
	if err := os.MkdirAll(filepath.Join(t.Root, g.Path), 0o755); err != nil {
		return fmt.Errorf("create cgroup %s: %w", g.Path, err)
	}

	text, err := os.ReadFile(filepath.Join(t.Root, "cgroup.procs"))
	if err != nil {
		return fmt.Errorf("read the processes of cgroup %q: %w", "/", err)
	}

	var errs []error

	for _, field := range strings.Fields(string(text)) {
		// 0 is a process outside of this PID namespace.
		if pid, err := strconv.Atoi(field); err == nil && pid != 0 {
			errs = append(errs, t.Add(g, pid))
		}
	}

	return errors.Join(errs...)
}

// Unified reports whether the tree that is mounted at Mount has the kernel's controllers, and not hierarchies of cgroup v1.
func Unified() bool {
	var st unix.Statfs_t

	return unix.Statfs(Mount, &st) == nil && st.Type == unix.CGROUP2_SUPER_MAGIC
}

// Kill kills all processes of a group and of those below it.
func (t Tree) Kill(path string) error {
	if err := os.WriteFile(filepath.Join(t.Root, path, "cgroup.kill"), []byte("1"), 0); err != nil {
		return fmt.Errorf("kill the processes of cgroup %s: %w", path, err)
	}

	return nil
}

// Add moves a process into a group.
func (t Tree) Add(g Group, pid int) error {
	err := os.WriteFile(filepath.Join(t.Root, g.Path, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
	if err != nil {
		return fmt.Errorf("move process %d into cgroup %s: %w", pid, g.Path, err)
	}

	return nil
}
