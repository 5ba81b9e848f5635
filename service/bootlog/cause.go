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
)

// Unexplained is the reason of an end of which there is no trace.
const Unexplained = "power cut or hard reset: the machine was not told to go down, and left no trace"

// Watchdog is the reason of an end by a hardware watchdog.
const Watchdog = "watchdog: the machine hung, and its watchdog reset it"

// Evidence is what the machine itself keeps of the end of its last boot.
type Evidence struct {
	// Panic is the kernel's last message, if that was one.
	Panic string
	// Watchdog tells that a watchdog reset the machine.
	Watchdog bool
	// Lines are the kernel's last, oldest first.
	Lines []string

	files []string
}

// Where the evidence is.
const (
	pstoreDir    = "/sys/fs/pstore"
	watchdogGlob = "/sys/class/watchdog/watchdog*/bootstatus"
	// cardReset is WDIOF_CARDRESET of linux/watchdog.h.
	cardReset = 0x20
)

// maxPStore is how much is read of one file there, and of all.
const (
	maxPStoreFile = 256 << 10
	maxPStoreAll  = 1 << 20
)

// Gather looks for evidence below root, which is "/" outside of tests.
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

// Clear removes the evidence, so that it is not taken for that of a later boot, and its room is free for the next.
func (e Evidence) Clear() {
	for _, path := range e.files {
		os.Remove(path) // then it is read again
	}
}

// Reason that the evidence tells for an end that nobody asked for.
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

// part of a dump, which the firmware has in pieces. "Part1" is the newest: the kernel stores from the end backwards.
type part struct {
	number int
	name   string
	lines  []string
}

func newPart(path string, text []byte) part {
	p := part{name: filepath.Base(path)}

	for scanner := bufio.NewScanner(bytes.NewReader(text)); scanner.Scan(); {
		l := strings.ToValidUTF8(scanner.Text(), "?")

		// The first line is "Panic#1 Part3" or the like.
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

// withoutLevel takes the kernel's level off a line: "<4>[ 1.0] text".
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

// panicIn finds the message with which the kernel gave up, or else the first that says that it was not well.
func panicIn(lines []string) string {
	for _, sign := range []string{"Kernel panic - not syncing", "BUG: ", "Oops: "} {
		for _, l := range lines {
			if i := strings.Index(l, sign); i >= 0 {
				return "kernel panic: " + strings.TrimPrefix(strings.TrimPrefix(l[i:], "Kernel panic - not syncing"), ": ")
			}
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
