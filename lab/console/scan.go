// SPDX-License-Identifier: Apache-2.0

// Package console finds faults in the log of a machine's serial console. A test passes only if the kernel and the
// system's programs have not crashed, even if the machine recovered.
package console

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
)

// Finding is a sign of a fault.
type Finding struct {
	// Kind names the fault.
	Kind string
	// Line is the number of its first line, from 1.
	Line int
	// Text is that line and those after it that belong to it.
	Text string
}

func (f Finding) String() string { return fmt.Sprintf("line %d: %s: %s", f.Line, f.Kind, f.Text) }

// contextLines is how many lines after a fault are kept with it.
const contextLines = 12

// longestLine is how much of a line is read. The rest is dropped: firmware may write endless lines.
const longestLine = 16 << 10

// stamp matches the time before a line: the lab's seconds since power-on, then the kernel's level, time and caller.
var stamp = regexp.MustCompile(`^(?:\+\s*\d+\.\d+ )?(?:<\d+>)?(?:\[\s*\d+\.\d+\](?:\[\s*[TC]\d+\])? )?`)

// program matches the name of the program that wrote the line, after the stamp.
var program = regexp.MustCompile(`^(?:\[[\w./-]{1,32}\] )?(?:[\w./-]{1,32}(?:\[\d+\])?: )?`)

// sign is the pattern of a fault. A pattern with ^ matches at the beginning of the line's own text.
type sign struct {
	kind    string
	pattern *regexp.Regexp
}

var signs = []sign{
	{"kernel panic", regexp.MustCompile(`Kernel panic - not syncing`)},
	{"kernel oops", regexp.MustCompile(`\bOops: |Internal error: Oops|general protection fault|Unable to handle kernel`)},
	{"kernel lockup", regexp.MustCompile(`watchdog: BUG: |rcu: INFO: rcu_\w+ (self-)?detected|blocked for more than \d+ seconds`)},
	{"kernel bug", regexp.MustCompile(`^BUG: |^kernel BUG at |KASAN: |UBSAN: `)},
	{"out of memory", regexp.MustCompile(`Out of memory: Killed process|invoked oom-killer`)},
	{"file system error", regexp.MustCompile(`EXT4-fs error|XFS \([^)]*\): (Corruption|Internal error|Metadata corruption)|SQUASHFS error`)},
	{"crashed program", regexp.MustCompile(`\bsegfault at [0-9a-f]+ ip `)},
	{"data race", regexp.MustCompile(`^WARNING: DATA RACE`)},
	{"Go panic", regexp.MustCompile(`^panic: |^fatal error: |^unexpected fault address|^runtime: goroutine stack exceeds`)},
	{"Go signal", regexp.MustCompile(`^SIG(SEGV|ABRT|BUS|FPE|ILL|TRAP|QUIT): `)},
	{"Go stack trace", regexp.MustCompile(`^goroutine \d+ (gp=\S+ m=\S+ (mp=\S+ )?)?\[[^\]]+\]:$`)},
}

// Scan reads a console to its end and returns its faults, in order. A stack trace that belongs to a fault before it is
// not a fault of its own.
func Scan(r io.Reader) ([]Finding, error) {
	var (
		found []Finding
		lines = bufio.NewReaderSize(r, longestLine)
		last  = -contextLines // line of the latest finding
	)

	for n := 1; ; n++ {
		raw, err := readLine(lines)
		if err == io.EOF {
			return found, nil
		}

		if err != nil {
			return found, fmt.Errorf("read console line %d: %w", n, err)
		}

		text := bytes.TrimRight(raw, "\r\n\t ")
		kind := match(text)
		if trace := kind == "Go stack trace"; kind != "" && !(trace && n-last < contextLines) {
			found = append(found, Finding{Kind: kind, Line: n, Text: string(text)})
			last = n
		} else if len(found) > 0 && n-last < contextLines && len(text) > 0 {
			f := &found[len(found)-1]
			f.Text += "\n" + string(text)
		}
	}
}

// match returns the kind of fault that a line shows, or "".
func match(line []byte) string {
	// A sign can look like a program's name ("panic: "), so the line is matched with and without it.
	timed := line[len(stamp.Find(line)):]
	own := timed[len(program.Find(timed)):]

	for _, s := range signs {
		if s.pattern.Match(timed) || s.pattern.Match(own) {
			return s.kind
		}
	}

	return ""
}

// readLine returns the next line, cut at longestLine.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line = bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = r.ReadSlice('\n')
		}
	}

	if err == io.EOF && len(line) > 0 {
		return line, nil
	}

	return line, err
}
