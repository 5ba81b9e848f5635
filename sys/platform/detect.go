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

// Environment variables of process 1 in a container.
const (
	modeVariable     = "PLATFORM"
	userDataVariable = "USERDATA"
)

// found is what Detect reads.
type found struct {
	mode, userData string
	// pidNamespace is the link /proc/self/ns/pid.
	pidNamespace string
	rights       capability.Rights
	cgroup2      bool
	// memory is the kernel's memory in bytes, and memoryLimit the content of the cgroup file that limits it.
	memory      uint64
	memoryLimit string
}

// initialPIDNamespace is the link of the initial PID namespace: its number is part of the kernel's interface (PROC_PID_INIT_INO).
const initialPIDNamespace = "pid:[4026531836]"

// Detect returns the platform of this process 1. In a container /proc and /sys/fs/cgroup must be mounted; on a computer of its own they
// need not be. With an error, the mode is still valid if it is known, so that a container ends as a container.
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

// container reports whether process 1 is in a container. The variable alone is not enough: the kernel passes unknown arguments of its
// command line to process 1 as variables.
func (f *found) container() bool {
	return f.mode == Container.String() && f.pidNamespace != initialPIDNamespace
}

// undeclared returns an error in a container without the variable: the machine would change the host's settings.
func (f *found) undeclared() error {
	if f.mode == Container.String() || f.pidNamespace == "" || f.pidNamespace == initialPIDNamespace {
		return nil
	}

	return fmt.Errorf("detect the platform: process 1 is in a PID namespace of its own, and the variable %s is %q: start a container with %s=%s",
		modeVariable, f.mode, modeVariable, Container)
}

// decide returns the platform for what was found.
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

// foreign returns how much of the memory exceeds the limit. The limit max, or one above the memory, is no limit.
func foreign(memory uint64, limit string) uint64 {
	n, err := strconv.ParseUint(strings.TrimSpace(limit), 10, 64)
	if err != nil || n >= memory {
		return 0
	}

	return memory - n
}
