// SPDX-License-Identifier: Apache-2.0

package state

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Process identifies a process. A PID alone does not: another process can get it later.
type Process struct {
	PID int `yaml:"pid"`
	// Start is when it started, in clock ticks since this computer's boot.
	Start uint64 `yaml:"start"`
	// Boot is the identity of that boot.
	Boot string `yaml:"boot"`
}

// Identify returns the process that now has a PID.
func Identify(pid int) (*Process, error) {
	stat, err := readStat(pid)
	if err != nil {
		return nil, fmt.Errorf("identify process %d: %w", pid, err)
	}

	return &Process{PID: pid, Start: stat.start, Boot: bootID()}, nil
}

// Alive reports whether the process still runs.
func (p *Process) Alive() bool {
	if p.Boot != bootID() {
		return false
	}

	stat, err := readStat(p.PID)

	return err == nil && stat.start == p.Start && !stat.dead
}

// Kill ends the process, if it still runs, and waits for its end.
func (p *Process) Kill() error {
	// The handle is opened before the start time is checked, so that the checked process is the one that is killed.
	handle, err := os.FindProcess(p.PID)
	if err != nil {
		return fmt.Errorf("find process %d: %w", p.PID, err)
	}
	defer func() { _ = handle.Release() }()

	if !p.Alive() {
		return nil
	}

	if err := handle.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill process %d: %w", p.PID, err)
	}

	// A process with much memory takes a while to free it.
	if !p.WaitEnded(time.Minute) {
		return fmt.Errorf("process %d was killed and still exists", p.PID)
	}

	return nil
}

// WaitEnded waits for the end of the process, and reports whether it has ended.
func (p *Process) WaitEnded(patience time.Duration) bool {
	for deadline := time.Now().Add(patience); p.Alive(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}

	return true
}

// stat has fields of /proc/PID/stat.
type stat struct {
	dead  bool
	start uint64
}

func readStat(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}

	return parseStat(text)
}

// parseStat reads fields 3, 20 and 22 of proc_pid_stat(5). Field 2, the program's name, may contain blanks and
// parentheses. A process whose first thread has ended keeps its files until its last thread ends.
func parseStat(text []byte) (stat, error) {
	const state, threads, start = 3, 20, 22

	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) <= start-state {
		return stat{}, fmt.Errorf("process status %.60q has too few fields", text)
	}

	ticks, err := strconv.ParseUint(fields[start-state], 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("process status %.60q: start time: %w", text, err)
	}

	ended := fields[0] == "Z" || fields[0] == "X"

	return stat{dead: ended && len(fields[threads-state]) == 1 && fields[threads-state] <= "1", start: ticks}, nil
}

func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}

	return strings.TrimSpace(string(id))
}
