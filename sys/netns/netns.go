// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package netns runs code in other network namespaces: those that a container runtime keeps as files in a folder, one for each pod.
package netns

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/cosi/guard"
)

// Folders are where runtimes keep namespaces. On most systems the first is a link to the second.
var Folders = []string{"/var/run/netns", "/run/netns"}

// Names returns the names of the namespaces. It ignores folders that do not exist.
func Names(folders ...string) ([]string, error) {
	var names []string

	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("list network namespaces: %w", err)
		}

		for _, e := range entries {
			if !slices.Contains(names, e.Name()) {
				names = append(names, e.Name())
			}
		}
	}

	return names, nil
}

// Find returns the file of a namespace.
func Find(name string, folders ...string) (string, error) {
	if name != filepath.Base(name) || name == "." || name == ".." {
		return "", fmt.Errorf("network namespace %q: %w: want a name, not a path", name, fs.ErrInvalid)
	}

	for _, folder := range folders {
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			return filepath.Join(folder, name), nil
		}
	}

	return "", fmt.Errorf("network namespace %q: %w in %v", name, fs.ErrNotExist, folders)
}

// Do runs fn on a thread in the namespace. Sockets that fn opens stay in the namespace; goroutines that it starts are not in it. A
// panic of fn is returned as an error.
func Do(path string, fn func() error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("enter network namespace: %w", err)
	}
	defer f.Close()

	return <-guard.Go(func() error {
		// Never unlocked: the thread ends with the goroutine, so that no other goroutine runs in the namespace.
		runtime.LockOSThread()

		if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter network namespace %s: %w", path, err)
		}

		return fn()
	})
}
