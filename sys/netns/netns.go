// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package netns looks into network namespaces other than the process's own: those that a container runtime keeps as files
// in a folder, one a pod.
package netns

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/cosi/guard"
)

// Folders that runtimes keep namespaces in. The first is a link to the second on most systems, and not on all.
var Folders = []string{"/var/run/netns", "/run/netns"}

// Names of the namespaces that there are. Folders that do not exist have none.
func Names(folders ...string) ([]string, error) {
	var names []string

	seen := map[string]bool{}

	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("list network namespaces: %w", err)
		}

		for _, e := range entries {
			if !seen[e.Name()] {
				names = append(names, e.Name())
			}

			seen[e.Name()] = true
		}
	}

	return names, nil
}

// Find returns the file of a namespace.
func Find(name string, folders ...string) (string, error) {
	if name != filepath.Base(name) || name == "." || name == ".." {
		return "", fmt.Errorf("network namespace %q: %w: it is not a name", name, fs.ErrInvalid)
	}

	for _, folder := range folders {
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			return filepath.Join(folder, name), nil
		}
	}

	return "", fmt.Errorf("network namespace %q: %w in %v", name, fs.ErrNotExist, folders)
}

// Do runs fn on a thread that is in the namespace. What fn opens stays in it; goroutines that it starts are not. A panic
// of fn is its error.
func Do(path string, fn func() error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("enter network namespace: %w", err)
	}
	defer f.Close()

	return <-guard.Go(func() error {
		// Never unlocked: the thread ends with the goroutine, so none that is in another namespace is ever used again.
		runtime.LockOSThread()

		if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter network namespace %s: %w", path, err)
		}

		return fn()
	})
}
