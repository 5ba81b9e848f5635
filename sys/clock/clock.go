// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package clock sets the kernel's clock: in one step, or by letting it run a little faster or slower (adjtimex(2)).
package clock

import (
	"fmt"
	"os"
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

// hardwareClock is the clock that runs while the machine is off.
const hardwareClock = "/dev/rtc0"

// SetHardware writes the time into the hardware clock, in UTC. The kernel does so itself only after its clock was synchronized for
// eleven minutes. A machine that restarts earlier would have the wrong time again.
func SetHardware() error {
	f, err := os.OpenFile(hardwareClock, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("set the hardware clock: %w", err)
	}
	defer f.Close()

	// The hardware clock has whole seconds.
	now := rtcTime(time.Now().Add(time.Second / 2))
	if err := unix.IoctlSetRTCTime(int(f.Fd()), &now); err != nil {
		return fmt.Errorf("set the hardware clock: %w", err)
	}

	return nil
}

// rtcTime converts a time to that of rtc(4): months from 0, years from 1900.
func rtcTime(t time.Time) unix.RTCTime {
	t = t.UTC()

	return unix.RTCTime{
		Sec: int32(t.Second()), Min: int32(t.Minute()), Hour: int32(t.Hour()),
		Mday: int32(t.Day()), Mon: int32(t.Month()) - 1, Year: int32(t.Year()) - 1900,
	}
}

// Leap is the second that is inserted or deleted at the end of a day (UTC).
type Leap int32

// The kinds; the values are bits of the kernel's status.
const (
	LeapNone   Leap = 0
	LeapInsert Leap = unix.STA_INS
	LeapDelete Leap = unix.STA_DEL
)

// Slew corrects an offset of up to half a second over the next minutes, through the kernel's phase-locked loop. It also tells the
// kernel that its clock is synchronised, so that the kernel sets the hardware clock too. The constant of the loop is 0 to 10: the
// larger, the slower and smoother. A leap second is inserted or deleted at the end of this day.
func Slew(offset time.Duration, constant int, leap Leap) error {
	t := unix.Timex{
		Modes:    unix.ADJ_OFFSET | unix.ADJ_NANO | unix.ADJ_STATUS | unix.ADJ_TIMECONST | unix.ADJ_MAXERROR | unix.ADJ_ESTERROR,
		Offset:   offset.Nanoseconds(),
		Status:   unix.STA_PLL | unix.STA_NANO | int32(leap),
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
	// FrequencyPPM is by how much the clock runs faster, in parts per million.
	FrequencyPPM float64
	Constant     int
	Synchronised bool
	// Status has the names of the set bits (STA_PLL | STA_NANO), and Leap is the result of adjtimex(2), such as TIME_OK.
	Status, Leap string
}

var statusBits = []string{
	"STA_PLL", "STA_PPSFREQ", "STA_PPSTIME", "STA_FLL", "STA_INS", "STA_DEL", "STA_UNSYNC", "STA_FREQHOLD", "STA_PPSSIGNAL",
	"STA_PPSJITTER", "STA_PPSWANDER", "STA_PPSERROR", "STA_CLOCKERR", "STA_NANO", "STA_MODE", "STA_CLK",
}

var leapStates = []string{"TIME_OK", "TIME_INS", "TIME_DEL", "TIME_OOP", "TIME_WAIT", "TIME_ERROR"}

func statusText(status int32) string {
	var names []string

	for i, name := range statusBits {
		if status&(1<<i) != 0 {
			names = append(names, name)
		}
	}

	return strings.Join(names, " | ")
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
