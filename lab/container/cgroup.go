// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Cgroups are those of a lab: one folder in each hierarchy of this computer, with a folder for each machine.
type Cgroups struct {
	all  []hierarchy
	name string
}

// namePrefix is the prefix of the names of labs' cgroups.
const namePrefix = "talos-lab-"

// needed are the controllers without which Kubernetes does not run.
var needed = []string{"cpu", "cpuset", "memory", "pids"}

// NewCgroups plans the cgroups of a lab, whose name must be unique on this computer. For root they are in cgroup v2
// beside those of systemd, and in v1 below this process's. Without root they are in the caller's cgroup, which must be
// delegated.
func NewCgroups(name string) (*Cgroups, error) {
	all, err := hierarchies()
	if err != nil {
		return nil, err
	}

	if whole(all) && os.Geteuid() == 0 {
		all[0].own = all[0].mount
	}

	return &Cgroups{all: all, name: namePrefix + name}, nil
}

// V1 reports whether controllers are in cgroup v1.
func (c *Cgroups) V1() bool { return !whole(c.all) }

// Dirs returns the lab's folders. RemoveCgroups needs them, so the state keeps them.
func (c *Cgroups) Dirs() []string {
	var dirs []string
	for _, h := range c.all {
		dirs = append(dirs, filepath.Join(h.own, c.name))
	}

	return dirs
}

// Create creates the folders.
func (c *Cgroups) Create() error {
	for i, dir := range c.Dirs() {
		h := &c.all[i]

		if h.v2 && whole(c.all) {
			if err := h.delegate(); err != nil {
				return err
			}
		}

		if err := makeCgroup(dir); err != nil {
			return err
		}

		if whole(c.all) {
			if err := enable(dir); err != nil {
				return err
			}
		}
	}

	return nil
}

// makeCgroup creates a cgroup for processes. A cpuset of v1 accepts processes only when it has processors.
func makeCgroup(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create cgroup: %w", err)
	}

	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		if _, err := os.Stat(filepath.Join(dir, "cgroup.controllers")); err == nil {
			return nil // v2
		}

		value, err := os.ReadFile(filepath.Join(filepath.Dir(dir), file))
		if errors.Is(err, fs.ErrNotExist) {
			return nil // no cpuset
		}

		if err != nil {
			return fmt.Errorf("create cgroup: %w", err)
		}

		if err := os.WriteFile(filepath.Join(dir, file), value, 0); err != nil {
			return fmt.Errorf("create cgroup: %w", err)
		}
	}

	return nil
}

// delegate enables controllers for the children of the caller's own cgroup. A cgroup of v2, except the root, has either
// processes or controllers for its children, so its processes move to a child.
func (h *hierarchy) delegate() error {
	if h.own == h.mount {
		return nil // checked by Check, and not the lab's
	}

	if enable(h.own) == nil {
		return nil
	}

	leaf := filepath.Join(h.own, "callers")
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create cgroup: %w", err)
	}

	processes, err := pids(h.own)
	if err != nil {
		return err
	}

	for _, pid := range processes {
		if err := join(leaf, pid); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}

	return enable(h.own)
}

// enable enables all controllers of a cgroup of v2 for its children.
func enable(dir string) error {
	all, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("read the controllers of cgroup %s: %w", dir, err)
	}

	file := filepath.Join(dir, "cgroup.subtree_control")

	have, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the controllers of cgroup %s: %w", dir, err)
	}

	for _, c := range strings.Fields(string(all)) {
		if slices.Contains(strings.Fields(string(have)), c) {
			continue
		}

		if err := os.WriteFile(file, []byte("+"+c), 0); err != nil {
			return fmt.Errorf("enable controller %s: %w", c, err)
		}
	}

	return nil
}

func join(dir string, pid int) error {
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
		return fmt.Errorf("move process %d into its cgroup: %w", pid, err)
	}

	return nil
}

func pids(dir string) ([]int, error) {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil, fmt.Errorf("list the processes of a cgroup: %w", err)
	}

	var found []int

	for _, field := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return nil, fmt.Errorf("list the processes of cgroup %s: %w", dir, err)
		}

		if pid != 0 { // 0 is a process of another PID namespace
			found = append(found, pid)
		}
	}

	return found, nil
}

// Cgroup is that of a machine, in all hierarchies.
type Cgroup struct {
	lab  *Cgroups
	name string
}

// Machine returns the cgroup of a machine.
func (c *Cgroups) Machine(name string) Cgroup { return Cgroup{lab: c, name: name} }

func (c Cgroup) mounts() []CgroupMount {
	var mounts []CgroupMount
	for _, h := range c.lab.all {
		mounts = append(mounts, h.in())
	}

	return mounts
}

func (c Cgroup) dirs() []string {
	dirs := c.lab.Dirs()
	for i := range dirs {
		dirs[i] = filepath.Join(dirs[i], c.name)
	}

	return dirs
}

// create creates the cgroup and sets its limits.
func (c Cgroup) create(limits Limits) error {
	for _, dir := range c.dirs() {
		if err := makeCgroup(dir); err != nil {
			return err
		}

		if err := limits.set(dir); err != nil {
			return err
		}
	}

	return nil
}

// join moves a process into the cgroup.
func (c Cgroup) join(pid int) error {
	for _, dir := range c.dirs() {
		if err := join(dir, pid); err != nil {
			return err
		}
	}

	return nil
}

// Limits of a machine; zero is none.
type Limits struct {
	MemoryMiB int
	CPUs      int
	// Processes bounds processes and threads, so that some are left for this computer.
	Processes int
}

// HalfOfProcesses returns half of this computer's limit of processes.
func HalfOfProcesses() (int, error) {
	const path = "/proc/sys/kernel/pid_max"

	text, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("read the limit of processes: %w", err)
	}

	most, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", path, err)
	}

	return most / 2, nil
}

// period of the CPU limit, in microseconds; the kernel's default.
const period = 100000

// set writes the limits of the controllers in a folder.
func (l Limits) set(dir string) error {
	settings := [][2]string{}

	if l.MemoryMiB > 0 {
		bytes := strconv.Itoa(l.MemoryMiB << 20)
		settings = append(settings, [2]string{"memory.max", bytes}, [2]string{"memory.limit_in_bytes", bytes})
	}

	if l.CPUs > 0 {
		quota := strconv.Itoa(l.CPUs * period)
		settings = append(settings, [2]string{"cpu.max", quota + " " + strconv.Itoa(period)}, [2]string{"cpu.cfs_quota_us", quota})
	}

	if l.Processes > 0 {
		settings = append(settings, [2]string{"pids.max", strconv.Itoa(l.Processes)}) // of both versions
	}

	for _, s := range settings {
		path := filepath.Join(dir, s[0])
		if _, err := os.Stat(path); err != nil {
			continue
		}

		if err := os.WriteFile(path, []byte(s[1]), 0); err != nil {
			return fmt.Errorf("set the machine's limits: %w", err)
		}
	}

	return nil
}
