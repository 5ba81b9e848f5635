// SPDX-License-Identifier: Apache-2.0

package module

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Coldplug loads the modules of all devices that the kernel knows: it reads each modalias below the devices folder of sysfs. A device
// without a module is not an error. A bus driver may add devices, so it repeats until there are no new ones.
//
// Disks and network cards come first, because the boot waits for them; features of the CPU come last.
func (l *Loader) Coldplug(sysfs string) error { return l.coldplug(sysfs, cards, modaliases) }

// Cards is the first part of Coldplug: it loads only the modules of disks and network cards.
func (l *Loader) Cards(sysfs string) error { return l.coldplug(sysfs, cards) }

func (l *Loader) coldplug(sysfs string, finders ...func(sysfs string) ([]string, error)) error {
	x, err := l.Index()
	if err != nil {
		return fmt.Errorf("coldplug: %w", err)
	}

	var (
		seen = map[string]bool{}
		errs []error
	)

	for _, find := range finders {
		for {
			aliases, err := find(sysfs)
			if err != nil {
				return fmt.Errorf("coldplug: %w", err)
			}

			aliases = slices.DeleteFunc(aliases, func(a string) bool { return seen[a] || len(x.Resolve(a)) == 0 })
			if len(aliases) == 0 {
				break
			}

			slices.SortStableFunc(aliases, func(a, b string) int { return cmp.Compare(urgency(a), urgency(b)) })

			for _, a := range aliases {
				if urgency(a) != urgency(aliases[0]) {
					break // there may be more urgent devices now
				}

				seen[a] = true

				if err := l.Hotplug(a); err != nil {
					errs = append(errs, err)
				}
			}
		}
	}

	return errors.Join(errs...)
}

// storageOrNetwork matches PCI devices that are disks or network cards by their class, or USB controllers, which may have disks.
var storageOrNetwork = regexp.MustCompile(`^pci:.*bc(0[12]sc|0Csc03)`)

// cards returns the modaliases of disks, network cards and their controllers. It reads only some buses, which takes a fraction of the time
// of a walk over all devices.
func cards(sysfs string) ([]string, error) {
	var out []string

	for _, bus := range []string{"virtio", "vmbus", "xen", "scsi", "usb", "pci"} {
		files, err := filepath.Glob(filepath.Join(sysfs, "bus", bus, "devices", "*", "modalias"))
		if err != nil {
			return nil, err
		}

		for _, file := range files {
			text, err := os.ReadFile(file)
			if alias := strings.TrimSpace(string(text)); err == nil && (bus != "pci" || storageOrNetwork.MatchString(alias)) {
				out = append(out, alias)
			}
		}
	}

	return out, nil
}

// urgency orders buses, the lowest first.
func urgency(modalias string) int {
	bus, _, _ := strings.Cut(modalias, ":")

	switch bus {
	case "virtio":
		return 0
	case "pci":
		return 1
	case "cpu":
		return 3
	default:
		return 2
	}
}

// Hotplug loads the modules for one device's modalias; it is not an error if there are none.
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

	return slices.Sorted(maps.Keys(found)), nil
}
