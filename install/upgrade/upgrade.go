// SPDX-License-Identifier: Apache-2.0

// Package upgrade puts a release beside the system that runs, and finds the one to go back to. Both are changes of the boot entry, which are
// tried (package trial): nothing here makes another entry start.
package upgrade

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/install/release"
	"github.com/seed-59268b81/talos/install/trial"
	"github.com/seed-59268b81/talos/sys/fat"
)

// Errors that callers tell apart.
var (
	// ErrUnknownEntry is the error of a machine of which it is not known which boot entry runs.
	ErrUnknownEntry = errors.New("it is not known which boot entry runs: the machine was not started by its boot loader, or the firmware has lost its variables")
	// ErrNotDefault is the error of a machine that was started from another entry than its default one.
	ErrNotDefault = errors.New("the boot entry that runs is not the default one")
	// ErrNoPrevious is the error of a rollback without an earlier version.
	ErrNoPrevious = errors.New("there is no earlier version on this machine to go back to")
)

// Change is a change of the boot entry, with the versions.
type Change struct {
	trial.Change
	FromVersion, ToVersion string
}

// Add adds the entry of a release. from is the version that runs. Nothing is written if the release is not for this machine. Entries that are
// neither in use nor the default are removed only when there is no space, and only if there is enough without them.
func Add(ctx context.Context, l loader.Loader, image *release.Image, arch, from string, progress func(string)) (Change, error) {
	if err := image.For(arch, from); err != nil {
		return Change{}, err
	}

	system, err := systemOf(image)
	if err != nil {
		return Change{}, err
	}

	change, err := booted(l)
	if err != nil {
		return Change{}, err
	}

	progress(fmt.Sprintf("writing %s, %d MiB", image.Version, (system.UKI.Size+1<<20-1)>>20))

	change.ToVersion = image.Version

	if change.To, err = l.Add(ctx, system); errors.Is(err, fat.ErrNoSpace) {
		if err = makeRoom(l, system, progress); err == nil {
			change.To, err = l.Add(ctx, system)
		}
	}

	if err != nil {
		return Change{}, err
	}

	progress("added boot entry " + change.To)

	return change, nil
}

// makeRoom removes the entries that are neither in use nor the default. It removes none if the system would not fit without them.
func makeRoom(l loader.Loader, system loader.System, progress func(string)) error {
	unneeded, err := loader.Unneeded(l)
	if err == nil {
		err = l.Fits(system, unneeded...)
	}

	if err != nil {
		return err
	}

	removed, err := loader.Collect(l)
	for _, id := range removed {
		progress("removed boot entry " + id + " to make room")
	}

	return err
}

// systemOf returns what the entry of a release starts. A release need not have what only GRUB starts.
func systemOf(image *release.Image) (loader.System, error) {
	s := loader.System{Version: image.Version, Cmdline: image.Cmdline}

	for name, to := range map[string]*install.Source{release.UKI: &s.UKI, release.Kernel: &s.Kernel, release.Initramfs: &s.Initramfs} {
		source, err := image.Source(name)
		if err != nil && (name == release.UKI || !errors.Is(err, fs.ErrNotExist)) {
			return s, err
		}

		*to = source
	}

	return s, nil
}

// booted returns a change from the entry that runs. It is the default one, so the machine comes back to it.
func booted(l loader.Loader) (Change, error) {
	id, err := l.Booted()
	if err == nil && id == "" {
		err = ErrUnknownEntry
	}

	if err != nil {
		return Change{}, err
	}

	byDefault, err := l.Default()
	if err == nil && byDefault == "" {
		err = l.SetDefault(id)
	}

	if err == nil && byDefault != "" && byDefault != id {
		err = fmt.Errorf("%w: %s runs, and %s is the default: reboot first", ErrNotDefault, id, byDefault)
	}

	if err != nil {
		return Change{}, err
	}

	entries, err := l.Entries()

	c := Change{Change: trial.Change{From: id}}
	c.FromVersion = versionOf(entries, id)

	return c, err
}

func versionOf(entries []loader.Entry, id string) string {
	for _, e := range entries {
		if e.ID == id {
			return e.Version
		}
	}

	return ""
}

// Previous returns the change from the entry that runs to the one that the last trial replaced, or to the only other one.
func Previous(l loader.Loader, last trial.Record) (Change, error) {
	change, err := booted(l)
	if err != nil {
		return Change{}, err
	}

	entries, err := l.Entries()
	if err != nil {
		return Change{}, err
	}

	var others []string

	for _, e := range entries {
		// One that never ran, or was not healthy, is none to go back to.
		never := e.ID == last.Entry.To && (last.State == trial.Armed || last.State == trial.Reverted && !last.Kept)
		if e.ID != change.From && !never {
			others = append(others, e.ID)
		}
	}

	replaced := last.Entry.From != change.From && versionOf(entries, last.Entry.From) != ""

	switch {
	case last.Entry.From != "" && replaced:
		change.To = last.Entry.From
	case len(others) == 1:
		change.To = others[0]
	case len(others) == 0:
		return Change{}, ErrNoPrevious
	default:
		return Change{}, fmt.Errorf("%w: it is not known which of %s ran before", ErrNoPrevious, strings.Join(others, ", "))
	}

	change.ToVersion = versionOf(entries, change.To)

	return change, nil
}

// Collect removes the entries that no one goes back to. After a commit it keeps the one that was replaced; after a revert only that goes which
// was tried, unless the trial was withdrawn and says that it stays.
func Collect(l loader.Loader, last trial.Record) error {
	if last.Kept {
		return nil
	}

	if last.State != trial.Reverted {
		_, err := loader.Collect(l, last.Entry.From, last.Entry.To)

		return err
	}

	entries, err := l.Entries()
	if err != nil {
		return err
	}

	keep := make([]string, 0, len(entries))

	for _, e := range entries {
		if e.ID != last.Entry.To {
			keep = append(keep, e.ID)
		}
	}

	_, err = loader.Collect(l, keep...)

	return err
}
