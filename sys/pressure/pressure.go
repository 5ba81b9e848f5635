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
	// Stalled is for how long, since the boot, all processes that had work waited for memory.
	Stalled time.Duration
	// Available is the memory in bytes that processes can get without swapping, of Total.
	Available, Total uint64
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

	stalled, err := parseStalled(string(stalls))
	if err != nil {
		return Sample{}, fmt.Errorf("memory pressure: %w", err)
	}

	s := Sample{Stalled: stalled, Available: field(string(info), "MemAvailable:") << 10, Total: field(string(info), "MemTotal:") << 10}
	if s.Total == 0 {
		return Sample{}, fmt.Errorf("memory pressure: no MemTotal in meminfo")
	}

	return s, nil
}

// parseStalled returns the total of the line "full avg10=0.00 avg60=0.00 avg300=0.00 total=0", which is in microseconds.
func parseStalled(text string) (time.Duration, error) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "full ") {
			continue
		}

		_, total, _ := strings.Cut(line, " total=")

		microseconds, err := strconv.ParseUint(strings.TrimSpace(total), 10, 53)

		return time.Duration(microseconds) * time.Microsecond, err
	}

	return 0, fmt.Errorf("no line full in %q", text)
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
