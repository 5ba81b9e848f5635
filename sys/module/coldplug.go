// SPDX-License-Identifier: Apache-2.0

package module

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Coldplug loads the modules of every device that the kernel already knows: it reads each modalias below
// the devices folder of sysfs. A device without a module is no error. Loading a bus driver brings up more
// devices, so it goes round until nothing new appears.
func (l *Loader) Coldplug(sysfs string) error {
	x, err := l.Index()
	if err != nil {
		return fmt.Errorf("coldplug: %w", err)
	}

	var (
		seen = map[string]bool{}
		errs []error
	)

	for {
		aliases, err := modaliases(sysfs)
		if err != nil {
			return fmt.Errorf("coldplug: %w", err)
		}

		aliases = slices.DeleteFunc(aliases, func(a string) bool { return seen[a] })
		if len(aliases) == 0 {
			return errors.Join(errs...)
		}

		// Modules of a processor are ciphers, which take longer over their self-tests than all disks and cards over
		// their start. They come when nothing else does any more.
		if others := slices.DeleteFunc(slices.Clone(aliases), ofProcessor); len(others) > 0 {
			aliases = others
		}

		for _, a := range aliases {
			seen[a] = true

			for _, name := range x.Resolve(a) {
				if err := l.load(x, name, nil, map[string]bool{}); err != nil && !errors.Is(err, fs.ErrNotExist) && !noDevice(err) {
					errs = append(errs, fmt.Errorf("coldplug %s: %w", a, err))
				}
			}
		}
	}
}

// Hotplug loads the modules for one device's modalias; nothing to load is a success.
func (l *Loader) Hotplug(modalias string) error {
	x, err := l.Index()
	if err != nil {
		return fmt.Errorf("hotplug %s: %w", modalias, err)
	}

	var errs []error

	for _, name := range x.Resolve(modalias) {
		if err := l.load(x, name, nil, map[string]bool{}); err != nil && !noDevice(err) {
			errs = append(errs, fmt.Errorf("hotplug %s: %w", modalias, err))
		}
	}

	return errors.Join(errs...)
}

// modaliases returns every modalias below sysfs/devices, sorted, each once.
func modaliases(sysfs string) ([]string, error) {
	found := map[string]bool{}

	err := filepath.WalkDir(filepath.Join(sysfs, "devices"), func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) && p != filepath.Join(sysfs, "devices") {
				return nil // devices come and go during the walk
			}

			return err
		}

		if d.Name() != "modalias" || d.IsDir() {
			return nil
		}

		if text, err := os.ReadFile(p); err == nil {
			if s := strings.TrimSpace(string(text)); s != "" {
				found[s] = true
			}
		}

		return nil
	})
	if err != nil {
		return nil, err
	}

	out := make([]string, 0, len(found))
	for a := range found {
		out = append(out, a)
	}

	slices.Sort(out)

	return out, nil
}

func ofProcessor(alias string) bool { return strings.HasPrefix(alias, "cpu:") }
