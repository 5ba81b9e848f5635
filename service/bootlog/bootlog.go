// SPDX-License-Identifier: Apache-2.0

// Package bootlog keeps the logs of the last boots on disk, so that what a machine said before it went down can be read
// after it is up again, together with why it went down.
//
// Each boot has a folder: record.json (its id, start, end and reason; replaced whole, by rename) and numbered segments of
// records with checksums (see frame.go). A power cut costs what was not synced yet, a few seconds, and never what was
// written before: a segment is read up to its first record that is not whole.
//
// Everything has a bound: what one log may write per second, what waits for the disk, a segment, a boot, the number of
// boots and their sum (see Limits). Whoever logs never waits; what could not be kept is counted, and the count is kept.
//
// One file per service was rejected: it takes a sync for each, and says nothing of what happened at the same time.
package bootlog

import (
	"errors"
	"time"
)

// The ids of logs that are no service's.
const (
	// Kernel is the kernel's log.
	Kernel = "kernel"
	// PStore is what the firmware kept of the kernel's last words.
	PStore = "pstore"
)

// Limits in bytes, unless they say otherwise.
type Limits struct {
	// Segment is about where one file ends and the next begins.
	Segment int64
	// Boot is what one boot keeps: the oldest segments go first.
	Boot int64
	// Total of all boots: the oldest boots go first.
	Total int64
	// Boots is how many are kept.
	Boots int
	// Pending is what waits for the disk.
	Pending int
	// Rate per second, and Burst beyond it, of one log.
	Rate, Burst int
}

// DefaultLimits are those of a machine.
var DefaultLimits = Limits{
	Segment: 1 << 20, Boot: 16 << 20, Total: 64 << 20, Boots: 20, Pending: 4 << 20, Rate: 32 << 10, Burst: 2 << 20,
}

// Boot is one boot of the machine.
type Boot struct {
	// Number of its folder, which only grows.
	Number int `json:"-"`
	// ID that the kernel gave it.
	ID    string    `json:"id"`
	Start time.Time `json:"start"`
	// End is when it was told to go down, or when the last line was logged; zero for the one that runs.
	End time.Time `json:"end,omitzero"`
	// Reason of its end.
	Reason string `json:"reason,omitempty"`
	// Version of the system.
	Version string `json:"version,omitempty"`
}

// Errors; match them with errors.Is.
var (
	ErrNoBoot = errors.New("no such boot: see talosctl get boots")
	ErrNoLog  = errors.New("that boot has no such log")
	ErrClosed = errors.New("the logs of earlier boots are not there yet: the volume EPHEMERAL is not mounted; see talosctl get volumestatus")
)
