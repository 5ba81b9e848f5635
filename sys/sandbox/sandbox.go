// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package sandbox starts a program as another user, with a root file system that has only the files it needs, without capabilities or a
// way to gain any, and with the system calls that a server needs. If the kernel has Landlock, it enforces the same file access again.
//
// It is a stage between the supervisor and the program: cmd/sandbox reads the Box from its environment, builds the root in a mount
// namespace, drops its permissions and executes the program. The stage is a process of its own because Go cannot run code between
// fork and exec.
package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Stage is the path of the stage's program, and Name its argv[0].
const (
	Stage = "/usr/libexec/sandbox"
	Name  = "sandbox"
)

// variable is the environment variable that holds the Box.
const variable = "TALOS_SANDBOX"

// root is an empty folder of the image on which the new root is mounted. The mount is visible only in the namespace.
const root = "/mnt"

// Box describes the program and its environment.
type Box struct {
	// Path of the program, and Argv with its name.
	Path string   `json:"path"`
	Argv []string `json:"argv"`
	Env  []string `json:"env,omitempty"`
	// UID and GID to become.
	UID int `json:"uid"`
	GID int `json:"gid"`
	// ReadOnly and Writable are files and folders of the host that are visible at the same path.
	ReadOnly []string `json:"readOnly,omitempty"`
	Writable []string `json:"writable,omitempty"`
}

// Command returns the path, arguments and environment that start the box through a stage, see Stage.
func (b Box) Command(stage string) (path string, argv, env []string, err error) {
	raw, err := json.Marshal(b)
	if err != nil {
		return "", nil, nil, fmt.Errorf("sandbox %s: %w", b.Path, err)
	}

	return stage, []string{Name}, []string{variable + "=" + string(raw)}, nil
}

// Main is the stage; it returns only on failure.
func Main() error {
	var box Box

	if err := json.Unmarshal([]byte(os.Getenv(variable)), &box); err != nil {
		return fmt.Errorf("sandbox: %s: %w", variable, err)
	}

	// Namespaces and capabilities belong to a thread, and the program continues from the one that calls exec.
	runtime.LockOSThread()

	if err := box.enter(); err != nil {
		return fmt.Errorf("sandbox %s: %w", box.Path, err)
	}

	//program:image what the box is for: apid, trustd
	return fmt.Errorf("sandbox %s: exec: %w", box.Path, syscall.Exec(box.Path, box.Argv, box.Env))
}

func (b Box) enter() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("new mount namespace: %w", err)
	}

	// Mounts made here must not propagate to the host. Mounts of the host do propagate here: a file of /etc may be bound after the
	// program has started.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("make mounts follow the host's: %w", err)
	}

	if err := unix.Mount("tmpfs", root, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=64k,mode=0755"); err != nil {
		return fmt.Errorf("mount the new root: %w", err)
	}

	for _, path := range b.ReadOnly {
		if err := show(path, unix.MS_RDONLY); err != nil {
			return err
		}
	}

	for _, path := range b.Writable {
		if err := show(path, 0); err != nil {
			return err
		}
	}

	if err := unix.Mount("", root, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
		return fmt.Errorf("make the new root read-only: %w", err)
	}

	if err := pivot(); err != nil {
		return err
	}

	return b.giveUp()
}

// show binds a file or folder of the host into the new root.
func show(path string, flags uintptr) error {
	st, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("show %s: %w", path, err)
	}

	target := filepath.Join(root, path)

	if st.IsDir() {
		err = os.MkdirAll(target, 0o755)
	} else if err = os.MkdirAll(filepath.Dir(target), 0o755); err == nil {
		err = os.WriteFile(target, nil, 0o600)
	}

	if err != nil {
		return fmt.Errorf("show %s: %w", path, err)
	}

	if err := unix.Mount(path, target, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("show %s: bind: %w", path, err)
	}

	if err := unix.Mount("", target, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_NOSUID|unix.MS_NODEV|flags, ""); err != nil {
		return fmt.Errorf("show %s: remount: %w", path, err)
	}

	return nil
}

// pivot switches to the new root and unmounts the old one. If both arguments are the same folder, the old root is stacked on the new one
// (pivot_root(2), "pivot_root(".", ".")") and needs no folder of its own.
func pivot() error {
	if err := unix.Chdir(root); err != nil {
		return fmt.Errorf("enter the new root: %w", err)
	}

	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot root: %w", err)
	}

	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount the old root: %w", err)
	}

	return unix.Chdir("/")
}

// openFiles is the limit of open files: some times what a server has with all connections that it admits.
const openFiles = 16384

// limit sets limits of the process. Those of memory and processes are the cgroup's.
func limit() error {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return fmt.Errorf("limit of open files: %w", err)
	}

	most := min(openFiles, files.Max)

	for resource, value := range map[int]uint64{unix.RLIMIT_NOFILE: most, unix.RLIMIT_CORE: 0, unix.RLIMIT_MSGQUEUE: 0} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: value, Max: value}); err != nil {
			return fmt.Errorf("set resource limit %d to %d: %w", resource, value, err)
		}
	}

	return nil
}

// giveUp permanently drops the capabilities, switches to the user, and restricts the system calls to those of a server.
func (b Box) giveUp() error {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		// An older kernel does not know the last capabilities.
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}

	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}

	if err := syscall.Setgroups(nil); err != nil {
		return fmt.Errorf("drop groups: %w", err)
	}

	if err := syscall.Setgid(b.GID); err != nil {
		return fmt.Errorf("become group %d: %w", b.GID, err)
	}

	if err := syscall.Setuid(b.UID); err != nil {
		return fmt.Errorf("become user %d: %w", b.UID, err)
	}

	if err := limit(); err != nil {
		return err
	}

	if err := b.landlock(); err != nil {
		return err
	}

	return Restrict()
}
