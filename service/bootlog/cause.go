// SPDX-License-Identifier: Apache-2.0

package bootlog

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-59268b81/talos/layout"
)

// Unexplained is the reason of an end that left no trace.
const Unexplained = "power cut or hard reset: the machine was not told to go down, and left no trace"

// Watchdog is the reason of an end by a hardware watchdog.
const Watchdog = "watchdog: the machine hung, and its watchdog reset it"

// Evidence is what the hardware and the firmware recorded of the end of the last boot.
type Evidence struct {
	// Panic is the kernel's last message, if that was one, or why the system did not start.
	Panic string
	// Watchdog is set when a watchdog reset the machine.
	Watchdog bool
	// Lines are the last lines of the kernel's log, oldest first.
	Lines []string

	files []string
}

// Where the evidence is.
const (
	pstoreDir     = "/sys/fs/pstore"
	pstoreBackend = "/sys/module/pstore/parameters/backend"
	watchdogGlob  = "/sys/class/watchdog/watchdog*/bootstatus"
	// cardReset is WDIOF_CARDRESET of linux/watchdog.h.
	cardReset = 0x20
)

// The limits of what is read of one file of pstore, and of all.
const (
	maxPStoreFile = 256 << 10
	maxPStoreAll  = 1 << 20
)

// Gather reads the evidence below root, which is "/" outside of tests.
func Gather(root string) Evidence {
	e := Evidence{Watchdog: watchdogReset(filepath.Join(root, watchdogGlob))}

	paths, err := filepath.Glob(filepath.Join(root, pstoreDir, "*"))
	if err != nil {
		return e
	}

	e.files = paths

	var parts []part

	left := int64(maxPStoreAll)

	for _, path := range paths {
		text, err := readSome(path, min(left, maxPStoreFile))
		if err != nil || !strings.HasPrefix(filepath.Base(path), "dmesg-") {
			continue
		}

		left -= int64(len(text))
		parts = append(parts, newPart(path, text))
	}

	e.Lines = join(parts)
	e.Panic = panicIn(e.Lines)

	return e
}

// Readable reports whether the driver of the firmware's memory is loaded below root. Before that, Gather finds nothing there.
func Readable(root string) bool {
	name, err := readSome(filepath.Join(root, pstoreBackend), 64)

	return err == nil && !slices.Contains([]string{"", "(null)"}, strings.TrimSpace(string(name)))
}

// Clear removes the evidence, so that it is not taken for that of a later boot, and its space is free.
func (e Evidence) Clear() {
	for _, path := range e.files {
		os.Remove(path) // a file that stays is read again at the next boot
	}
}

// Reason returns the reason of an end that was not requested.
func (e Evidence) Reason() string {
	switch {
	case e.Panic != "":
		return e.Panic
	case e.Watchdog:
		return Watchdog
	default:
		return Unexplained
	}
}

// part is a part of a dump. "Part1" is the newest: the kernel writes the parts backwards from the end.
type part struct {
	number int
	name   string
	lines  []string
}

func newPart(path string, text []byte) part {
	p := part{name: filepath.Base(path)}

	for scanner := bufio.NewScanner(bytes.NewReader(text)); scanner.Scan(); {
		l := strings.ToValidUTF8(scanner.Text(), "?")

		// The first line is a header such as "Panic#1 Part3".
		if p.lines == nil {
			if _, n, ok := strings.Cut(l, " Part"); ok {
				p.number, _ = strconv.Atoi(strings.TrimSpace(n))

				continue
			}
		}

		p.lines = append(p.lines, withoutLevel(l))
	}

	return p
}

// withoutLevel removes the kernel's log level from a line: "<4>[ 1.0] text".
func withoutLevel(l string) string {
	if rest, ok := strings.CutPrefix(l, "<"); ok {
		if level, text, ok := strings.Cut(rest, ">"); ok && len(level) <= 3 {
			return text
		}
	}

	return l
}

func join(parts []part) []string {
	slices.SortStableFunc(parts, func(a, b part) int {
		return cmp.Or(b.number-a.number, strings.Compare(a.name, b.name))
	})

	var lines []string
	for _, p := range parts {
		lines = append(lines, p.lines...)
	}

	return lines
}

// panicIn returns the message of the panic, or else of the first error, or why the system did not start.
func panicIn(lines []string) string {
	for _, sign := range []string{"Kernel panic - not syncing", "BUG: ", "Oops: "} {
		for _, l := range lines {
			if i := strings.Index(l, sign); i >= 0 {
				return "kernel panic: " + strings.TrimPrefix(strings.TrimPrefix(l[i:], "Kernel panic - not syncing"), ": ")
			}
		}
	}

	for _, l := range lines {
		if _, why, ok := strings.Cut(l, layout.DoesNotStart); ok {
			return "the system did not start: " + why
		}
	}

	if len(lines) > 0 {
		return "kernel panic: its last message was " + lines[len(lines)-1]
	}

	return ""
}

func watchdogReset(glob string) bool {
	paths, _ := filepath.Glob(glob) // the pattern is well-formed

	return slices.ContainsFunc(paths, func(path string) bool {
		text, _ := readSome(path, 64)
		status, err := strconv.ParseUint(strings.TrimSpace(string(text)), 0, 32)

		return err == nil && status&cardReset != 0
	})
}

func readSome(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()

	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, fs.ErrInvalid
	}

	return io.ReadAll(io.LimitReader(f, limit))
}
