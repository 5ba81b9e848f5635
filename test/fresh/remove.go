// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-59268b81/talos/lab/container"
	"github.com/seed-59268b81/talos/lab/state"
)

// remove removes all writes of a machine that has ended. Before that it removes the cgroups of its containers, which are on
// the host and stay when their processes are killed. The state of the machine's labs names them.
func remove(place string) error {
	m := machine{Place: place}

	labs, err := filepath.Glob(filepath.Join(m.upper(sourcePlace+"/out"), "lab", "*"))
	if err != nil {
		return err
	}

	var errs []error

	for _, dir := range labs {
		lab, err := state.Load(dir)
		if errors.Is(err, state.ErrNone) { // it was not yet written
			continue
		}

		if err != nil {
			errs = append(errs, err)

			continue
		}

		if err := container.RemoveCgroups(lab.Cgroups...); err != nil {
			errs = append(errs, fmt.Errorf("remove the cgroups of lab %s: %w", lab.Name, err))
		}
	}

	return errors.Join(append(errs, os.RemoveAll(place))...)
}
