// SPDX-License-Identifier: Apache-2.0

package network

import (
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// tries limits how often a step is tried. A step that failed waits for a change of the kernel's state, or for its pause. A step that
// succeeds and is undone by another program is repeated seldom.
type tries map[string]*try

type try struct {
	at         []time.Time // of the tries in the window, at most burst
	last       time.Time
	err        error
	generation uint64 // of the snapshot at the failure
	failures   int
}

// Limits of tries.
const (
	// burst is the most tries in a window; a machine that converges needs no more.
	burst  = 5
	window = 10 * time.Second
	// A step that fails for another reason than the kernel's state is tried again after a second, finally after a minute.
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// noGeneration is not that of any snapshot: for a step that is tried again only after a pause.
const noGeneration = 0

// errFought is the error of a step that is not tried because it succeeded often and was undone.
var errFought = errors.New("another program changes it back each time")

// notYet reports whether an error of the kernel means that an address, a route or a link is missing, or a link is down. EINVAL is the
// error for a preferred source that is not an address of the machine.
func notYet(err error) bool {
	return slices.ContainsFunc([]error{unix.ENETUNREACH, unix.EHOSTUNREACH, unix.ENETDOWN, unix.EINVAL, unix.ENODEV}, func(errno error) bool {
		return errors.Is(err, errno)
	})
}

// allow returns nil if a step may be tried, else the error of its last try. The duration is the pause after which it may be tried even if
// nothing changes; 0 is never.
func (t tries) allow(what string, generation uint64, now time.Time) (time.Duration, error) {
	last, ok := t[what]
	if !ok {
		return 0, nil
	}

	for len(last.at) > 0 && now.Sub(last.at[0]) >= window {
		last.at = last.at[1:]
	}

	if len(last.at) >= burst {
		err := last.err
		if err == nil {
			err = errFought
		}

		return last.at[0].Add(window).Sub(now), err
	}

	if last.err == nil || last.generation != generation {
		return 0, nil
	}

	if notYet(last.err) && generation != noGeneration {
		return 0, last.err
	}

	if pause := last.pause(now); pause > 0 {
		return pause, last.err
	}

	return 0, nil
}

// pause returns how long a failed step must still wait.
func (t *try) pause(now time.Time) time.Duration {
	return t.last.Add(min(firstRetry<<min(t.failures-1, 10), lastRetry)).Sub(now)
}

// note records the result of a step. It returns after which pause it may be tried again even if nothing changes; 0 is never.
func (t tries) note(what string, generation uint64, now time.Time, err error) time.Duration {
	last, ok := t[what]
	if !ok {
		last = &try{}
		t[what] = last
	}

	last.at = append(last.at, now)
	last.last, last.err, last.generation = now, err, generation

	if err == nil {
		last.failures = 0

		return 0
	}

	last.failures++

	if notYet(err) && generation != noGeneration {
		return 0
	}

	return last.pause(now)
}

// forget removes the tries that are neither wanted nor recent.
func (t tries) forget(wanted map[string]bool, now time.Time) {
	for what, last := range t {
		if !wanted[what] && now.Sub(last.last) >= window {
			delete(t, what)
		}
	}
}
