// SPDX-License-Identifier: Apache-2.0

//go:build linux

package clock

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Reading is one of another clock: what to add to the kernel's clock, and how long the reading took, which bounds its error.
type Reading struct{ Offset, Took time.Duration }

// ptpReadings is how often a clock is read; the fastest reading is the most exact one.
const ptpReadings = 8

// ReadPTP reads a clock of the Precision Time Protocol, such as /dev/ptp0: that of the host of a virtual machine, or of a network card that
// something else synchronizes. Its time must be UTC.
func ReadPTP(device string) (Reading, error) {
	f, err := os.Open(device)
	if err != nil {
		return Reading{}, fmt.Errorf("read the time of %s: %w", device, err)
	}
	defer f.Close()

	r, err := fastest(ptpReadings, readClock(unix.CLOCK_REALTIME), readClock(clockOf(f.Fd())))
	if err != nil {
		return Reading{}, fmt.Errorf("read the time of %s: %w", device, err)
	}

	return r, nil
}

// clockOf returns the clock of an open device: FD_TO_CLOCKID of the kernel.
func clockOf(fd uintptr) int32 { return int32(^fd<<3 | 3) }

func readClock(id int32) func() (time.Time, error) {
	return func() (time.Time, error) {
		var ts unix.Timespec

		err := unix.ClockGettime(id, &ts)

		return time.Unix(ts.Unix()), err
	}
}

// fastest compares another clock with the own one several times.
func fastest(times int, own, other func() (time.Time, error)) (best Reading, err error) {
	for i := range times {
		var at [3]time.Time

		for j, read := range []func() (time.Time, error){own, other, own} {
			if at[j], err = read(); err != nil {
				return Reading{}, err
			}
		}

		took := at[2].Sub(at[0])
		if took < 0 { // the own clock was set meanwhile
			continue
		}

		if r := (Reading{Offset: at[1].Sub(at[0].Add(took / 2)), Took: took}); i == 0 || best == (Reading{}) || r.Took < best.Took {
			best = r
		}
	}

	return best, nil
}
