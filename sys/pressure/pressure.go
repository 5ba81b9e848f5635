// SPDX-License-Identifier: Apache-2.0

// Package pressure reads how short of memory the machine is: for how long all its processes have waited for memory (the kernel's
// Documentation/accounting/psi.rst), and how much is available.
package pressure

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Sample is the state of the memory at one time.
type Sample struct {
	// Pressure is that of the whole machine.
	Pressure Pressure
	// Available is the memory in bytes that processes can get without swapping, of Total.
	Available, Total uint64
}

// Pressure is for how long processes that had work waited for memory: some of them, or all at the same time.
type Pressure struct{ Some, Full Stall }

// Stall is one line of a file with a pressure.
type Stall struct {
	// The shares of the last 10, 60 and 300 seconds, in percent.
	Avg10, Avg60, Avg300 float64
	// Total is the time since the boot.
	Total time.Duration
}

// Read reads a sample from the proc file system.
func Read(proc string) (Sample, error) {
	stalls, err := os.ReadFile(filepath.Join(proc, "pressure/memory"))
	if err != nil {
		return Sample{}, fmt.Errorf("memory pressure: %w", err) // the kernel may not measure it
	}

	info, err := os.ReadFile(filepath.Join(proc, "meminfo"))
	if err != nil {
		return Sample{}, fmt.Errorf("memory pressure: %w", err)
	}

	pressure, err := parse(string(stalls))
	if err != nil {
		return Sample{}, fmt.Errorf("memory pressure: %w", err)
	}

	s := Sample{Pressure: pressure, Available: field(string(info), "MemAvailable:") << 10, Total: field(string(info), "MemTotal:") << 10}
	if s.Total == 0 {
		return Sample{}, fmt.Errorf("memory pressure: no MemTotal in meminfo")
	}

	return s, nil
}

// parse parses a file with a pressure: a line "some" and a line "full", such as "full avg10=0.00 avg60=0.00 avg300=0.00 total=0".
func parse(text string) (p Pressure, err error) {
	found := false

	for line := range strings.Lines(text) {
		kind, rest, _ := strings.Cut(line, " ")

		switch kind {
		case "some":
			p.Some, err = parseStall(rest)
		case "full":
			p.Full, err = parseStall(rest)
			found = true
		}

		if err != nil {
			return Pressure{}, fmt.Errorf("%q: %w", line, err)
		}
	}

	if !found {
		return Pressure{}, fmt.Errorf("no line full in %q", text)
	}

	return p, nil
}

// parseStall parses the values of a line. The total, which a line must have, is in microseconds.
func parseStall(text string) (s Stall, err error) {
	values := map[string]string{}

	for value := range strings.FieldsSeq(text) {
		name, number, _ := strings.Cut(value, "=")
		values[name] = number
	}

	for name, share := range map[string]*float64{"avg10": &s.Avg10, "avg60": &s.Avg60, "avg300": &s.Avg300} {
		if values[name] == "" {
			continue
		}

		if *share, err = strconv.ParseFloat(values[name], 64); err != nil {
			return Stall{}, err
		}
	}

	microseconds, err := strconv.ParseUint(values["total"], 10, 53)
	s.Total = time.Duration(microseconds) * time.Microsecond

	return s, err
}

// field returns the number after a name at the beginning of a line, or 0.
func field(text, name string) uint64 {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == name {
			n, _ := strconv.ParseUint(f[1], 10, 53) // 0 is "unknown"

			return n
		}
	}

	return 0
}
