// SPDX-License-Identifier: Apache-2.0

// Package logring holds the logs of services in memory, each in a bounded ring of lines. A reader gets the last lines and then, if it
// follows, each new one. A service never waits for a reader: a reader that is too slow skips the overwritten lines, and gets their
// number. A reader holds one chunk of lines at a time.
package logring

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// DefaultBytes that one log keeps.
const DefaultBytes = 1 << 20

// Logs are the logs of a machine, by the service's id. The zero value is not usable; see New.
type Logs struct {
	// Tap is called with each new line. It must neither block nor keep the line. Set it before the first use.
	Tap func(id string, line []byte)

	size int

	mu   sync.Mutex
	logs map[string]*ring
}

// New returns logs of size bytes each.
func New(size int) *Logs { return &Logs{size: size, logs: map[string]*ring{}} }

type ring struct {
	mu      sync.Mutex
	lines   [][]byte
	first   uint64 // number of lines[0]
	bytes   int
	changed chan struct{}
}

// Append adds a line to a log; the line is copied.
func (l *Logs) Append(id string, line []byte) {
	l.ring(id, true).append(bytes.Clone(line), l.size)

	if l.Tap != nil {
		l.Tap(id, line)
	}
}

// lineOverhead is the memory of a line in addition to its bytes.
const lineOverhead = 32

// IDs returns the ids of the existing logs, sorted.
func (l *Logs) IDs() []string {
	l.mu.Lock()
	defer l.mu.Unlock()

	return slices.Sorted(maps.Keys(l.logs))
}

func (l *Logs) ring(id string, create bool) *ring {
	l.mu.Lock()
	defer l.mu.Unlock()

	r := l.logs[id]
	if r == nil && create {
		r = &ring{changed: make(chan struct{})}
		l.logs[id] = r
	}

	return r
}

func (r *ring) append(line []byte, size int) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.lines = append(r.lines, line)
	r.bytes += len(line) + lineOverhead

	drop := 0
	for r.bytes > size && drop < len(r.lines)-1 {
		r.bytes -= len(r.lines[drop]) + lineOverhead
		r.lines[drop] = nil
		drop++
	}

	r.lines = r.lines[drop:]
	r.first += uint64(drop)

	close(r.changed)
	r.changed = make(chan struct{})
}

// from returns about a chunk of lines from number n on, the number of the line after them, and a channel that is closed when there is a
// new line.
func (r *ring) from(n uint64) (lines [][]byte, skipped, next uint64, more <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if n < r.first {
		skipped = r.first - n
		n = r.first
	}

	rest := r.lines[n-r.first:]
	size, count := 0, 0

	for count < len(rest) && size < chunk {
		size += len(rest[count]) + lineOverhead
		count++
	}

	return slices.Clone(rest[:count]), skipped, n + uint64(count), r.changed
}

// span returns the number of the first of the last tail lines, and of the line after the last.
func (r *ring) span(tail int) (start, end uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()

	end = r.first + uint64(len(r.lines))
	if tail < 0 || tail >= len(r.lines) {
		return r.first, end
	}

	return end - uint64(tail), end
}

// Has reports whether a log exists.
func (l *Logs) Has(id string) bool { return l.ring(id, false) != nil }

// Read sends the last tail lines of a log (all when negative) to fn in chunks, each line with its newline, and goes
// on with new ones while follow is set. It returns at the end of the log, when ctx is done (without an error), or with fn's error. The
// log must exist, see Has.
func (l *Logs) Read(ctx context.Context, id string, tail int, follow bool, fn func([]byte) error) error {
	r := l.ring(id, false)
	if r == nil {
		return fmt.Errorf("read log %q: there is no such log", id)
	}

	next, end := r.span(tail)

	for follow || next < end {
		lines, skipped, n, more := r.from(next)
		next = n

		if skipped > 0 {
			lines = append([][]byte{fmt.Appendf(nil, "… %d lines were overwritten before they could be read", skipped)}, lines...)
		}

		if len(lines) > 0 {
			if err := fn(append(bytes.Join(lines, []byte{'\n'}), '\n')); err != nil {
				return err
			}

			continue
		}

		select {
		case <-ctx.Done():
			return nil
		case <-more:
		}
	}

	return nil
}

// chunk is the approximate size of what is sent at once: with more than 32 KiB, gRPC uses a mebibyte for each message.
const chunk = 24 << 10
