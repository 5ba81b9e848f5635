// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package sandbox starts a program with a root of its own that shows only what it needs, no capabilities, no way to
// gain any, another user, and the system calls that a server needs. Landlock, where the kernel has it, refuses once more what the
// mounts do.
//
// It is a stage between the supervisor and the program: cmd/sandbox reads what to do from its environment, builds the
// root in a mount namespace, gives everything up and becomes the program. It has to be a process of its own because Go
// cannot run code between fork and exec.
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

// Stage is where the program of the stage is, and Name its argv[0].
const (
	Stage = "/usr/libexec/sandbox"
	Name  = "sandbox"
)

// variable of the environment that holds the Box.
const variable = "TALOS_SANDBOX"

// root is an empty folder of the image that the new root is mounted on. It is only seen in the namespace.
const root = "/mnt"

// Box is what the program will see and be.
type Box struct {
	// Path of the program, and Argv with its name.
	Path string   `json:"path"`
	Argv []string `json:"argv"`
	Env  []string `json:"env,omitempty"`
	// UID and GID to become.
	UID int `json:"uid"`
	GID int `json:"gid"`
	// ReadOnly and Writable are files and folders of the host that are shown at the same place.
	ReadOnly []string `json:"readOnly,omitempty"`
	Writable []string `json:"writable,omitempty"`
}

// Command returns the path, arguments and environment that start the box by way of a stage, see Stage.
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

	// Nothing done here may be seen outside. What the host mounts later is seen here, where it is shown: a file of /etc may
	// be bound to its place after the program has begun.
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

// pivot makes the new root the root and lets go of the old one. With both arguments the same folder the old root is
// stacked on the new one (pivot_root(2), "pivot_root(".", ".")"), and no folder is needed to put it.
func pivot() error {
	if err := unix.Chdir(root); err != nil {
		return fmt.Errorf("enter the new root: %w", err)
	}

	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot root: %w", err)
	}

	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("let go of the old root: %w", err)
	}

	return unix.Chdir("/")
}

// giveUp drops the capabilities, for good, becomes the user, and keeps the system calls of a server alone.
func (b Box) giveUp() error {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		// A kernel that is older than the constant does not know the last ones.
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

	if err := b.landlock(); err != nil {
		return err
	}

	return Restrict()
}
