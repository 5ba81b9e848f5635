// SPDX-License-Identifier: Apache-2.0

//go:build linux

package platform

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/capability"
	"github.com/seed-59268b81/talos/sys/cgroup"
)

// Variables of the environment of process 1, by convention of container engines for this kind of image.
const (
	modeVariable     = "PLATFORM"
	userDataVariable = "USERDATA"
)

// found is what Detect looks at.
type found struct {
	mode, userData string
	// pidNamespace is the link /proc/self/ns/pid.
	pidNamespace string
	rights       capability.Rights
	cgroup2      bool
	// memory is the kernel's, in bytes, and memoryLimit the file of our cgroup that limits it.
	memory      uint64
	memoryLimit string
}

// initialPIDNamespace is the link of the PID namespace that the kernel starts with: its number is part of the kernel's
// interface (PROC_PID_INIT_INO).
const initialPIDNamespace = "pid:[4026531836]"

// Detect tells where this process 1 runs. /proc and /sys/fs/cgroup must be mounted in a container, and need not be on a
// computer of its own. With an error the mode is right if it could be found out, so that a container ends as one.
func Detect() (Platform, error) {
	f := found{mode: os.Getenv(modeVariable), userData: os.Getenv(userDataVariable)}

	var err error

	if f.pidNamespace, err = os.Readlink("/proc/self/ns/pid"); err != nil && f.mode == Container.String() {
		return Platform{}, fmt.Errorf("detect the platform: %w", err)
	}

	if err := f.undeclared(); err != nil {
		return Platform{Mode: Container}, err
	}

	if !f.container() {
		return Platform{}, nil
	}

	if f.rights, err = capability.Own(); err != nil {
		return Platform{Mode: Container}, fmt.Errorf("detect the platform: %w", err)
	}

	f.cgroup2 = cgroup.Unified()

	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return Platform{Mode: Container}, fmt.Errorf("detect the platform: memory: %w", err)
	}

	f.memory = info.Totalram * uint64(info.Unit)

	limit := "memory/memory.limit_in_bytes"
	if f.cgroup2 {
		limit = "memory.max"
	}

	// A host without that controller sets no limit.
	if text, err := os.ReadFile(filepath.Join(cgroup.Mount, limit)); err == nil {
		f.memoryLimit = string(text)
	}

	return decide(f), nil
}

// container reports whether process 1 is in a container. The kernel passes unknown arguments of its command line to process
// 1 as variables; a computer does not become a container by that.
func (f *found) container() bool {
	return f.mode == Container.String() && f.pidNamespace != initialPIDNamespace
}

// undeclared fails in a container that does not say so: what a computer of its own sets and loads would be the host's.
func (f *found) undeclared() error {
	if f.mode == Container.String() || f.pidNamespace == "" || f.pidNamespace == initialPIDNamespace {
		return nil
	}

	return fmt.Errorf("detect the platform: process 1 is in a PID namespace of its own, and the variable %s is %q: start a container with %s=%s",
		modeVariable, f.mode, modeVariable, Container)
}

// decide is what follows from what was found.
func decide(f found) Platform {
	if !f.container() {
		return Platform{}
	}

	return Platform{Mode: Container, UserData: f.userData, Limits: Limits{
		UserNamespace: f.rights.UserNamespace,
		CgroupV1:      !f.cgroup2,
		ForeignMemory: foreign(f.memory, f.memoryLimit),
		NoResource:    !f.rights.Computer(unix.CAP_SYS_RESOURCE),
	}}
}

// foreign returns what a limit leaves out of the memory. A limit of more than there is, or the word max, is none.
func foreign(memory uint64, limit string) uint64 {
	n, err := strconv.ParseUint(strings.TrimSpace(limit), 10, 64)
	if err != nil || n >= memory {
		return 0
	}

	return memory - n
}
