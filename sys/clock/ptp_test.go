// SPDX-License-Identifier: Apache-2.0

//go:build linux

package clock

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestFastest: of several readings the fastest counts, and one during which the own clock went back does not.
func TestFastest(t *testing.T) {
	ms := func(ms ...int) func() (time.Time, error) {
		return func() (time.Time, error) {
			next := ms[0]
			ms = ms[1:]

			return time.UnixMilli(int64(next)), nil
		}
	}

	got, err := fastest(3, ms(1000, 1010, 1100, 1102, 1300, 1200), ms(5005, 5111, 5300))
	if want := (Reading{Offset: 4010 * time.Millisecond, Took: 2 * time.Millisecond}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

// TestReadPTP: the clock of a device is read; a file that is not a clock is an error. Few machines have one.
func TestReadPTP(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ptp0")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	if _, err := ReadPTP(file); !errors.Is(err, unix.EINVAL) {
		t.Errorf("a file: got %v, want %v", err, unix.EINVAL)
	}

	if _, err := ReadPTP(file + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: got %v", err)
	}

	const device = "/dev/ptp0"

	if _, err := os.Stat(device); err != nil {
		t.Skipf("%s: %v", device, err)
	}

	if r, err := ReadPTP(device); err != nil || r.Took > time.Second {
		t.Errorf("got %+v, %v", r, err)
	}
}
