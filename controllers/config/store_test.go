// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
)

var errPowerCut = errors.New("power cut")

// cutDisk is a disk that, after a power cut, has only the synced contents of files and names of folders. The power is cut after a number
// of operations; until then all changes are visible.
type cutDisk struct {
	left    int
	content map[string]string // what the running system sees
	durable map[string]string // what a reboot finds: names as synced, with their content as synced
	synced  map[string]bool   // content that is on the disk

	unreadable []string
}

func newCutDisk(files map[string]string, operations int) *cutDisk {
	d := &cutDisk{left: operations, content: map[string]string{}, durable: map[string]string{}, synced: map[string]bool{}}
	for name, text := range files {
		d.content[name], d.durable[name], d.synced[name] = text, text, true
	}

	return d
}

func (d *cutDisk) step() error {
	if d.left == 0 {
		return errPowerCut
	}

	d.left--

	return nil
}

func (d *cutDisk) ReadFile(path string) ([]byte, error) {
	if slices.Contains(d.unreadable, filepath.Base(path)) {
		return nil, syscall.EIO
	}

	text, ok := d.content[filepath.Base(path)]
	if !ok {
		return nil, fs.ErrNotExist
	}

	return []byte(text), nil
}

func (d *cutDisk) WriteSynced(path string, content []byte, _ fs.FileMode) error {
	name := filepath.Base(path)
	d.content[name] = string(content[:len(content)/2])
	d.durable[name] = d.content[name] // a torn file may well be there after a cut

	if err := d.step(); err != nil {
		return err
	}

	d.content[name] = string(content)
	d.durable[name] = d.content[name]

	return nil
}

func (d *cutDisk) Rename(from, to string) error {
	if err := d.step(); err != nil {
		return err
	}

	d.content[filepath.Base(to)] = d.content[filepath.Base(from)]
	delete(d.content, filepath.Base(from))

	return nil
}

func (d *cutDisk) Remove(path string) error {
	if err := d.step(); err != nil {
		return err
	}

	if _, ok := d.content[filepath.Base(path)]; !ok {
		return fs.ErrNotExist
	}

	delete(d.content, filepath.Base(path))

	return nil
}

func (d *cutDisk) SyncDir(string) error {
	if err := d.step(); err != nil {
		return err
	}

	d.durable = map[string]string{}
	for name, text := range d.content {
		d.durable[name] = text
	}

	return nil
}

// A power cut after any operation leaves the old text or the new one, and an acknowledged save leaves the new one.
func TestSaveSurvivesPowerCuts(t *testing.T) {
	before := string(configtest.ControlPlane(t))
	after := before + "# new, and longer\n"
	cfg := decoded(t, after)

	for cut := range 7 {
		d := newCutDisk(map[string]string{fileName: before}, cut)
		err := store{fs: d}.save(cfg)
		rebooted := newCutDisk(d.durable, 10)

		got, loadErr := store{fs: rebooted}.load()
		if loadErr != nil {
			t.Fatal(loadErr)
		}

		switch {
		case err == nil && string(got) != after:
			t.Errorf("cut after %d: saved, but the next boot finds %.60q", cut, got)
		case string(got) != before && string(got) != after:
			t.Errorf("cut after %d: the next boot finds %.60q, neither old nor new", cut, got)
		case cut == 6 && err != nil:
			t.Errorf("no cut: %v", err)
		}
	}
}

// TestUnusableIsKept: a configuration that this version cannot use, such as that of a newer one, is not lost when another takes its place.
func TestUnusableIsKept(t *testing.T) {
	const newer = "machine: {type: worker, newKey: 1}\n"

	files := map[string]string{fileName: newer}
	s := store{fs: newCutDisk(files, -1)}

	for range 2 { // the second replaces one that can be used
		if err := s.save(decoded(t, string(configtest.ControlPlane(t)))); err != nil {
			t.Fatal(err)
		}
	}

	if got, err := s.read(unusableName); string(got) != newer || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, newer)
	}

	if got, err := s.load(); !bytes.Equal(got, configtest.ControlPlane(t)) || err != nil {
		t.Errorf("got the configuration %q, %v", got, err)
	}
}

func TestDisk(t *testing.T) {
	s := store{fs: disk{}, dir: t.TempDir()}

	if text, err := s.load(); text != nil || err != nil {
		t.Errorf("nothing stored: got %q, %v", text, err)
	}

	for _, text := range []string{string(configtest.ControlPlane(t)) + "# which is long\n", string(configtest.Worker(t))} {
		if err := s.save(decoded(t, text)); err != nil {
			t.Fatal(err)
		}

		if got, err := s.load(); string(got) != text || err != nil {
			t.Errorf("got %.60q, %v, want %.60q", got, err, text)
		}
	}
}

func decoded(t *testing.T, text string) *config.Config {
	t.Helper()

	cfg, err := config.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}

	return cfg
}
