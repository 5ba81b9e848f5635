// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package clock sets the kernel's clock: in one step, or by letting it run a little faster or slower (adjtimex(2)).
package clock

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Step sets the clock forward or back at once.
func Step(offset time.Duration) error {
	ts := unix.NsecToTimespec(time.Now().Add(offset).UnixNano())
	if err := unix.ClockSettime(unix.CLOCK_REALTIME, &ts); err != nil {
		return fmt.Errorf("set the clock by %s: %w", offset, err)
	}

	return nil
}

// Slew corrects an offset of up to half a second over the next minutes, through the kernel's phase-locked loop, and
// tells the kernel that its clock is synchronised (which makes it keep the hardware clock right too). The constant is
// the loop's, 0 to 10: the larger, the slower and smoother.
func Slew(offset time.Duration, constant int) error {
	t := unix.Timex{
		Modes:    unix.ADJ_OFFSET | unix.ADJ_NANO | unix.ADJ_STATUS | unix.ADJ_TIMECONST | unix.ADJ_MAXERROR | unix.ADJ_ESTERROR,
		Offset:   offset.Nanoseconds(),
		Status:   unix.STA_PLL | unix.STA_NANO,
		Constant: int64(constant),
	}

	if _, err := unix.Adjtimex(&t); err != nil {
		return fmt.Errorf("adjust the clock by %s: %w", offset, err)
	}

	return nil
}

// State is the kernel's view of its clock.
type State struct {
	Offset, MaxError, EstError time.Duration
	// FrequencyPPM is how much faster (parts per million) the clock is made to run.
	FrequencyPPM float64
	Constant     int
	Synchronised bool
}

// Read returns the kernel's view.
func Read() (State, error) {
	var t unix.Timex

	state, err := unix.Adjtimex(&t)
	if err != nil {
		return State{}, fmt.Errorf("read the clock: %w", err)
	}

	unit := time.Microsecond
	if t.Status&unix.STA_NANO != 0 {
		unit = time.Nanosecond
	}

	return State{
		Offset:   time.Duration(t.Offset) * unit,
		MaxError: time.Duration(t.Maxerror) * time.Microsecond, EstError: time.Duration(t.Esterror) * time.Microsecond,
		FrequencyPPM: float64(t.Freq) / 65536, // a 16-bit fraction
		Constant:     int(t.Constant),
		Synchronised: state != unix.TIME_ERROR,
	}, nil
}
