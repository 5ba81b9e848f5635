// SPDX-License-Identifier: Apache-2.0

// Package bootlog keeps the logs of the last boots on disk, so that they can be read after the next boot, together with why each boot
// ended.
//
// Each boot has a folder: record.json (its id, start, end and reason; replaced whole, by rename) and numbered segments of
// records with checksums (see frame.go). A power cut loses only what was not synced, a few seconds: a segment is read up to its first
// incomplete record.
//
// Everything has a limit: the rate of one log, the lines in memory, a segment, a boot, the number of boots and their sum (see
// Limits). A service never waits for its log; lines that could not be kept are counted, and the count is logged.
//
// One file per service was rejected: it needs a sync for each, and loses the order of lines of different services.
package bootlog

import (
	"errors"
	"time"
)

// The ids of logs that are not of a service.
const (
	// Kernel is the kernel's log.
	Kernel = "kernel"
	// PStore is the end of the kernel's log, as the firmware kept it.
	PStore = "pstore"
)

// Limits are in bytes, except Boots.
type Limits struct {
	// Segment is the approximate size of a file.
	Segment int64
	// Boot is the size of one boot: the oldest segments are removed first.
	Boot int64
	// Total is the size of all boots: the oldest boots are removed first.
	Total int64
	// Boots is the number of boots.
	Boots int
	// Pending is the size of the lines in memory that are not on the disk yet.
	Pending int
	// Rate of one log per second, and Burst beyond it.
	Rate, Burst int
}

// DefaultLimits are those of a machine.
var DefaultLimits = Limits{
	Segment: 1 << 20, Boot: 16 << 20, Total: 64 << 20, Boots: 20, Pending: 4 << 20, Rate: 32 << 10, Burst: 2 << 20,
}

// Boot is one boot of the machine.
type Boot struct {
	// Number of its folder, which increases with each boot.
	Number int `json:"-"`
	// ID is the id that the kernel gave it.
	ID    string    `json:"id"`
	Start time.Time `json:"start"`
	// End is when the shutdown was requested, or else the time of the last line; zero for the current boot.
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
	ErrClosed = errors.New("the logs of earlier boots are not available yet: the volume EPHEMERAL is not mounted; see talosctl get volumestatus")
)
