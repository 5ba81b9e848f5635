// SPDX-License-Identifier: Apache-2.0

//go:build linux

package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// reapInterval is short, because tests check whether a process has ended, but long enough for the code that started a child
// to wait for it first.
const reapInterval = 2 * time.Second

// Adopt makes this process the parent of the processes that its descendants leave behind, in place of process 1, and reaps
// those that end, until ctx is done.
func Adopt(ctx context.Context) error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt orphans: %w", err)
	}

	go reap(ctx)

	return nil
}

// reap reaps children that it sees as zombies for the second time: by then the code that started a child has waited for it.
func reap(ctx context.Context) {
	for seen := map[int]bool{}; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(reapInterval):
		}

		all, err := table()
		if err != nil {
			continue
		}

		zombies := map[int]bool{}

		for _, p := range all {
			switch {
			case !p.zombie || p.Parent != os.Getpid():
			case seen[p.PID]:
				_, _ = unix.Wait4(p.PID, nil, unix.WNOHANG, nil)
			default:
				zombies[p.PID] = true
			}
		}

		seen = zombies
	}
}

// Process is one line of the process table.
type Process struct {
	PID, Parent int
	// Line is the command line, with blanks between the arguments.
	Line   string
	zombie bool
}

// Descendants returns the running processes below one.
func Descendants(of int) ([]Process, error) {
	all, err := table()

	return descendants(of, all), err
}

// Left returns the descendants of this process that still run.
func Left() ([]string, error) {
	all, err := Descendants(os.Getpid())

	var lines []string
	for _, p := range all {
		lines = append(lines, fmt.Sprintf("%d %s", p.PID, p.Line))
	}

	slices.Sort(lines)

	return lines, err
}

// Signal sends a signal to all descendants of this process.
func Signal(signal unix.Signal) error {
	all, err := Descendants(os.Getpid())
	if err != nil {
		return err
	}

	var errs []error

	for _, p := range all {
		if err := unix.Kill(p.PID, signal); err != nil && !errors.Is(err, unix.ESRCH) {
			errs = append(errs, fmt.Errorf("signal process %d: %w", p.PID, err))
		}
	}

	return errors.Join(errs...)
}

// table returns the machine's process table.
func table() ([]Process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}

	var all []Process

	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}

		// A process may end at any time.
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue
		}

		p, ok := parseStat(string(stat))
		if !ok {
			continue
		}

		line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		p.PID, p.Line = pid, strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
		all = append(all, p)
	}

	return all, nil
}

// parseStat reads state and parent from proc_pid_stat(5). The name before them may contain any character, also parentheses.
func parseStat(stat string) (Process, bool) {
	i := strings.LastIndexByte(stat, ')')
	words := strings.Fields(stat[i+1:])

	if i < 0 || len(words) < 2 {
		return Process{}, false
	}

	parent, err := strconv.Atoi(words[1])

	return Process{Parent: parent, zombie: words[0] == "Z" || words[0] == "X"}, err == nil
}

// below returns a process and all its descendants.
func below(of int, all []Process) map[int]bool {
	found := map[int]bool{of: true}

	for grown := true; grown; {
		grown = false

		for _, p := range all {
			if found[p.Parent] && !found[p.PID] {
				found[p.PID], grown = true, true
			}
		}
	}

	return found
}

// descendants returns the processes below one, without zombies.
func descendants(of int, all []Process) []Process {
	found := below(of, all)

	return slices.DeleteFunc(slices.Clone(all), func(p Process) bool { return p.PID == of || !found[p.PID] || p.zombie })
}
