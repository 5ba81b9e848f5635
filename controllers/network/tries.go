// SPDX-License-Identifier: Apache-2.0

package network

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// tries remember what was tried on the kernel, so that nothing is tried over and over: a step that failed waits for a
// change of what is observed, or for its time; one that succeeds and is undone by somebody else comes seldom.
type tries map[string]*try

type try struct {
	at         []time.Time // of the tries in the window, at most burst
	last       time.Time
	err        error
	generation uint64 // of the snapshot when it failed
	failures   int
}

// Limits of tries.
const (
	// burst tries in a window; a step needs no more while the machine converges.
	burst  = 5
	window = 10 * time.Second
	// A failure for which nothing observed is to blame is tried again after a second, at last after a minute.
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// noGeneration is no snapshot's: for a step that is tried again by time only.
const noGeneration = 0

// errFought is the outcome of a step that is not done because it was done often and has not lasted.
var errFought = errors.New("another program changes it back each time")

// notYet tells the kernel's errors for what lacks an address, a route, a link, or that a link is up. EINVAL is how it
// refuses a preferred source that is no own address.
func notYet(err error) bool {
	for _, errno := range []error{unix.ENETUNREACH, unix.EHOSTUNREACH, unix.ENETDOWN, unix.EINVAL, unix.ENODEV} {
		if errors.Is(err, errno) {
			return true
		}
	}

	return false
}

// allow reports whether a step may be tried: nil, or the error that stands, with the time after which it may be tried
// though nothing changes (0 is never).
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

// pause is how long a failed step still rests.
func (t *try) pause(now time.Time) time.Duration {
	return t.last.Add(min(firstRetry<<min(t.failures-1, 10), lastRetry)).Sub(now)
}

// note notes the outcome of a step. It returns when it may be tried again though nothing changes; 0 is never.
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

// forget drops what is neither wanted now nor recent.
func (t tries) forget(wanted map[string]bool, now time.Time) {
	for what, last := range t {
		if !wanted[what] && now.Sub(last.last) >= window {
			delete(t, what)
		}
	}
}
