// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/cmdline"
	"github.com/seed-59268b81/talos/sys/module"
	"github.com/seed-59268b81/talos/sys/mount"
	"github.com/seed-59268b81/talos/sys/platform"
)

// Early is the start of machined as process 1: it checks the kernel's arguments, mounts the pseudo file systems, creates
// /system, and sets the limits and the environment that every child inherits. After an error the system cannot run: log the
// error and call Halt.
//
// In a container modules is nil, and existing mounts are kept.
//
// It returns the kernel's arguments. Read them nowhere else: /proc/cmdline may be without the secrets afterwards.
func Early(p platform.Platform, modules *module.Loader) (cmdline.Cmdline, error) {
	if !p.Owns(platform.KernelArguments) || !p.Owns(platform.FileSystems) {
		if err := earlyContainer(p.Owns(platform.OOMScores)); err != nil {
			return cmdline.Cmdline{}, err
		}

		return cmdline.Read("/proc")
	}

	line, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		return cmdline.Cmdline{}, fmt.Errorf("read the kernel command line: %w", err)
	}

	return cmdline.Parse(string(line)), earlyMachine(modules, string(line))
}

func earlyMachine(modules *module.Loader, line string) error {
	for _, p := range Mounts() {
		// The kernel would start a program for each. A file system that is built in has no module.
		if err := modules.Load("fs-" + p.FSType); err != nil && !errors.Is(err, module.ErrNotFound) && !p.Optional {
			return err
		}
	}

	if err := prepare(Mounts(), map[string]string{"/dev/fd": "/proc/self/fd"}); err != nil {
		return err
	}

	// A kernel without the file is treated as affected.
	affected, err := os.ReadFile(meltdown)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the processor's vulnerability: %w", err)
	}

	if err := CheckArgs(line, string(affected)); err != nil {
		return err
	}

	if err := hideSecrets(line, "/proc/cmdline", layout.CmdlineFile); err != nil {
		return err
	}

	return setEnvironment(true)
}

// prepare creates mounts, the system's folders and symbolic links.
func prepare(points []mount.Point, links map[string]string) error {
	// Mounts below the root propagate both ways, so that containers and the host see each other's volumes.
	if err := mount.MakeShared("/"); err != nil {
		return err
	}

	if err := mount.All(points); err != nil {
		return err
	}

	unix.Umask(0o022)

	if err := makeDirs(layout.SystemFolders); err != nil {
		return err
	}

	if err := bindEtc(); err != nil {
		return err
	}

	for link, target := range links {
		if err := os.Symlink(target, link); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("create %s: %w", link, err)
		}
	}

	return nil
}

func makeDirs(folders []layout.Folder) error {
	for _, d := range folders {
		if err := errors.Join(os.MkdirAll(d.Path, fs.FileMode(d.Mode)), os.Chown(d.Path, d.UID, d.UID)); err != nil {
			return fmt.Errorf("create system folder: %w", err)
		}
	}

	return nil
}

func bindEtc() error {
	for _, target := range EtcDirs {
		source := layout.SystemDir + target
		if err := os.MkdirAll(source, 0o755); err != nil {
			return fmt.Errorf("create system folder: %w", err)
		}

		if err := mount.Bind(source, target, hardened); err != nil {
			return err
		}
	}

	return nil
}

// noFile is the limit of open files that services inherit.
const noFile = 1048576

// setEnvironment sets the limits and variables that services inherit. Without the right to raise the limit of open files it
// keeps a lower one.
func setEnvironment(canRaise bool) error {
	limit := unix.Rlimit{Cur: noFile, Max: noFile}

	if !canRaise {
		var old unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
			return fmt.Errorf("read the limit of open files: %w", err)
		}

		limit.Max = min(noFile, old.Max)
		limit.Cur = limit.Max
	}

	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("set the limit of open files to %d: %w", limit.Max, err)
	}

	os.Clearenv() // the kernel passes unknown arguments of its command line as variables

	for k, v := range map[string]string{
		"PATH":   "/usr/local/bin:/usr/bin:/usr/sbin:/opt/cni/bin",
		"HOME":   "/",
		"TMPDIR": "/tmp",
	} {
		if err := os.Setenv(k, v); err != nil {
			return fmt.Errorf("set environment variable %s: %w", k, err)
		}
	}

	return nil
}
