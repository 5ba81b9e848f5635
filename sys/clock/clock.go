// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package clock sets the kernel's clock: in one step, or by letting it run a little faster or slower (adjtimex(2)).
package clock

import (
	"fmt"
	"strings"
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
	// Status are the set bits, STA_PLL | STA_NANO, and Leap the return of adjtimex(2), TIME_OK: the kernel's words.
	Status, Leap string
}

var statusBits = []string{
	"STA_PLL", "STA_PPSFREQ", "STA_PPSTIME", "STA_FLL", "STA_INS", "STA_DEL", "STA_UNSYNC", "STA_FREQHOLD", "STA_PPSSIGNAL",
	"STA_PPSJITTER", "STA_PPSWANDER", "STA_PPSERROR", "STA_CLOCKERR", "STA_NANO", "STA_MODE", "STA_CLK",
}

var leapStates = []string{"TIME_OK", "TIME_INS", "TIME_DEL", "TIME_OOP", "TIME_WAIT", "TIME_ERROR"}

func statusText(status int32) string {
	var words []string

	for i, word := range statusBits {
		if status&(1<<i) != 0 {
			words = append(words, word)
		}
	}

	return strings.Join(words, " | ")
}

func leapText(state int) string {
	if state >= 0 && state < len(leapStates) {
		return leapStates[state]
	}

	return fmt.Sprint(state)
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
		Status:       statusText(t.Status), Leap: leapText(state),
	}, nil
}
