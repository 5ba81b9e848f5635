// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// probe creates a machine like a real one, with an empty root, and removes it before its first process starts.
func probe(ids *IDs) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("try to create a machine: %w", err)
		}
	}()

	dir, err := os.MkdirTemp("", "talos-lab-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	cfg := Config{Name: "probe", Dir: dir, Root: filepath.Join(dir, "image"), IDs: ids}

	for _, name := range []string{
		rootDir, stateDir, ephemeralDir, "image/dev", "image/proc", "image/sys", "image/run", "image/system", "image/tmp", "image/var",
	} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			return err
		}
	}

	cgroups, err := NewCgroups(filepath.Base(dir))
	if err != nil {
		return err
	}

	defer func() { err = errors.Join(err, RemoveCgroups(cgroups.Dirs()...)) }()

	if err := cgroups.Create(); err != nil {
		return err
	}

	cfg.Cgroup = cgroups.Machine("probe")
	if err := cfg.Cgroup.create(Limits{}); err != nil {
		return err
	}

	spec := cfg.spec()
	spec.Probe = true

	p, err := startProcess(spec, cfg.Cgroup, ids)
	if err != nil {
		return fmt.Errorf("%w; it needs root outside of a container, or subordinate ids and a delegated cgroup", err)
	}

	return p.wait()
}
