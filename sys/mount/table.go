// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Entry is one line of /proc/self/mountinfo.
type Entry struct {
	ID, Parent int
	// Device is major:minor of the file system.
	Device string
	// Root is the folder of the file system that is mounted.
	Root    string
	Target  string
	Options string
	FSType  string
	Source  string
	// SuperOptions are those of the file system, as opposed to the mount.
	SuperOptions string
	// File is the file that holds the file system, if Source is a loop device or the file itself. ParseTable does not set it.
	File string
}

// Table returns the mounts in the kernel's order: parents before children.
func Table() ([]Entry, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}

	table, err := ParseTable(text)
	for i, e := range table {
		table[i].File = backingFile("/sys", e.Source)
	}

	return table, err
}

// backingFile returns the file behind a loop device, or the source itself if the kernel mounts a file without a loop device. It is empty
// for a loop device that was removed.
func backingFile(sys, source string) string {
	name, isDevice := strings.CutPrefix(source, "/dev/")

	switch {
	case !isDevice && strings.HasPrefix(source, "/"):
		return source
	case !strings.HasPrefix(name, "loop"):
		return ""
	}

	text, err := os.ReadFile(filepath.Join(sys, "block", name, "loop/backing_file"))
	if err != nil {
		return ""
	}

	return strings.TrimSuffix(string(text), "\n")
}

// ParseTable reads the text of a mountinfo file.
func ParseTable(text []byte) ([]Entry, error) {
	var out []Entry

	n := 0
	for line := range bytes.Lines(text) {
		n++

		e, err := parseEntry(strings.TrimSuffix(string(line), "\n"))
		if err != nil {
			return nil, fmt.Errorf("mountinfo: line %d: %w", n, err)
		}

		out = append(out, e)
	}

	return out, nil
}

// A line is: id parent major:minor root target options [optional fields…] - fstype source superoptions.
func parseEntry(line string) (Entry, error) {
	left, right, ok := strings.Cut(line, " - ")
	l, r := strings.Split(left, " "), strings.Split(right, " ")

	if !ok || len(l) < 6 || len(r) < 2 {
		return Entry{}, fmt.Errorf("want at least 6 fields, a dash and 2 more, got %q", line)
	}

	id, err := strconv.Atoi(l[0])
	if err != nil {
		return Entry{}, fmt.Errorf("mount id: %w", err)
	}

	parent, err := strconv.Atoi(l[1])
	if err != nil {
		return Entry{}, fmt.Errorf("parent id: %w", err)
	}

	e := Entry{
		ID: id, Parent: parent, Device: l[2], Root: unescape(l[3]), Target: unescape(l[4]), Options: l[5],
		FSType: r[0], Source: unescape(r[1]),
	}

	if len(r) > 2 {
		e.SuperOptions = r[2]
	}

	return e, nil
}

// unescape undoes the kernel's octal escapes of space, tab, newline and backslash.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}

	var b strings.Builder

	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(v))

				i += 3

				continue
			}
		}

		b.WriteByte(s[i])
	}

	return b.String()
}
