// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package capability reports what the kernel allows this process. Root in a container may lack capabilities, and root in a user
// namespace has them only for what belongs to that namespace.
package capability

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Rights of a process.
type Rights struct {
	// Effective capabilities, a bit each.
	Effective uint64
	// UserNamespace is set when the process is not in the initial user namespace.
	UserNamespace bool
}

// initialMap is the uid_map of the initial user namespace.
const initialMap = "0 0 4294967295"

// Own returns the rights of this process.
func Own() (Rights, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return Rights{}, fmt.Errorf("read capabilities: %w", err)
	}

	uidMap, err := os.ReadFile("/proc/self/uid_map")
	if errors.Is(err, fs.ErrNotExist) { // a kernel without user namespaces
		uidMap, err = []byte(initialMap), nil
	}

	if err != nil {
		return Rights{}, fmt.Errorf("read capabilities: %w", err)
	}

	return Parse(string(status), string(uidMap))
}

// Parse reads /proc/PID/status and /proc/PID/uid_map.
func Parse(status, uidMap string) (Rights, error) {
	for line := range strings.Lines(status) {
		text, ok := strings.CutPrefix(line, "CapEff:")
		if !ok {
			continue
		}

		effective, err := strconv.ParseUint(strings.TrimSpace(text), 16, 64)
		if err != nil {
			return Rights{}, fmt.Errorf("parse capabilities: %w", err)
		}

		return Rights{Effective: effective, UserNamespace: !wholeRange(uidMap)}, nil
	}

	return Rights{}, errors.New("parse capabilities: the status has no line CapEff")
}

// Computer reports whether the process has a capability for all of the computer, as the kernel's capable() checks.
func (r Rights) Computer(capability int) bool {
	return !r.UserNamespace && r.Effective&(1<<capability) != 0
}

// wholeRange reports whether a uid_map is that of the initial user namespace: each id maps to itself.
func wholeRange(uidMap string) bool {
	return slices.Equal(strings.Fields(uidMap), strings.Fields(initialMap))
}
