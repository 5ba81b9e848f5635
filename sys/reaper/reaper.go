// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package reaper collects the orphans that PID 1 inherits.
//
// PID 1 also has children of its own, whose exit status somebody waits for (os/exec). To tell them apart without a
// registry that every package would have to use, the reaper leaves a zombie alone until it has been one for two
// rounds: whoever waits for a child collects it at once, so a zombie that old is nobody's.
package reaper

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Interval between two rounds.
const Interval = 10 * time.Second

// Run reaps until ctx is done.
func Run(ctx context.Context) { Every(ctx, Interval) }

// Every reaps with another time between two rounds, for a process that is no PID 1 and inherits orphans as a subreaper.
func Every(ctx context.Context, interval time.Duration) {
	seen := map[int]bool{}
	self := os.Getpid()

	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(interval):
		}

		seen = round(self, seen, func(pid int) {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) //nolint:errcheck // gone already is as good
		})
	}
}

// round reaps the zombies that were seen before and returns those that are new.
func round(self int, seen map[int]bool, reap func(pid int)) map[int]bool {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return seen
	}

	next := map[int]bool{}

	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || !zombieOf(pid, self) {
			continue
		}

		if seen[pid] {
			reap(pid)
		} else {
			next[pid] = true
		}
	}

	return next
}

// zombieOf reports whether pid is a zombie child of parent, from proc(5) stat: "pid (comm) state ppid …".
func zombieOf(pid, parent int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}

	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return false
	}

	fields := bytes.Fields(stat[i+1:])
	if len(fields) < 2 || string(fields[0]) != "Z" {
		return false
	}

	ppid, err := strconv.Atoi(string(fields[1]))

	return err == nil && ppid == parent
}
