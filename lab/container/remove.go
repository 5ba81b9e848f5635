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
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// removeTime is how long killed processes may take to leave their cgroup: they free their memory first.
const removeTime = time.Minute

// RemoveCgroups kills all processes in cgroups and those below them, and removes the cgroups that exist. The paths come
// from a file: if one of them is not a lab's, it does nothing and returns an error.
func RemoveCgroups(dirs ...string) error {
	for _, dir := range dirs {
		if !ofLab(dir) {
			return fmt.Errorf("remove cgroup %s: it is not a lab's", dir)
		}
	}

	errs := make([]error, len(dirs))

	var all sync.WaitGroup

	for i, dir := range dirs {
		all.Go(func() { errs[i] = removeCgroup(dir) })
	}

	all.Wait()

	return errors.Join(errs...)
}

// ofLab reports whether a path is that of a lab's cgroup, or of one below it.
func ofLab(dir string) bool {
	return filepath.Clean(dir) == dir && slices.ContainsFunc(strings.Split(dir, "/"), func(name string) bool {
		return strings.HasPrefix(name, namePrefix) && name != namePrefix
	})
}

func removeCgroup(root string) error {
	deadline := time.Now().Add(removeTime)

	for {
		dirs, err := tree(root)
		if err != nil {
			return fmt.Errorf("remove cgroup: %w", err)
		}

		var last error

		for _, dir := range slices.Backward(dirs) {
			if last = unix.Rmdir(dir); last != nil && !errors.Is(last, unix.ENOENT) {
				break
			}

			last = nil
		}

		if last == nil {
			return nil
		}

		if time.Now().After(deadline) {
			return fmt.Errorf("remove cgroup %s: %w", root, last)
		}

		for _, dir := range dirs {
			if err := killAll(dir); err != nil {
				return err
			}
		}

		time.Sleep(5 * time.Millisecond)
	}
}

// tree returns a cgroup and those below it, parents first, or nothing if it does not exist.
func tree(root string) ([]string, error) {
	var dirs []string

	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}

		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}

		return err
	})

	return dirs, err
}

// killAll kills the processes of a cgroup.
func killAll(dir string) error {
	processes, err := pids(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return nil // it was removed
	}

	if err != nil {
		return err
	}

	for _, pid := range processes {
		// The handle is opened before the list is read again, so that the process in the list is the one that is
		// killed.
		handle, err := os.FindProcess(pid)
		if err != nil {
			continue // it ended
		}

		if still, listErr := pids(dir); listErr == nil && slices.Contains(still, pid) {
			err = handle.Signal(unix.SIGKILL)
		}

		_ = handle.Release()

		if err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("kill process %d: %w", pid, err)
		}
	}

	return nil
}
