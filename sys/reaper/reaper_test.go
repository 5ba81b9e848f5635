// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reaper

import (
	"os"
	"slices"
	"syscall"
	"testing"
	"time"
)

func TestRoundReapsOnlyOldZombies(t *testing.T) {
	pid, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}

	deadline := time.Now().Add(5 * time.Second)
	for !zombieOf(pid, os.Getpid()) {
		if time.Now().After(deadline) {
			t.Fatal("the child did not become a zombie")
		}

		time.Sleep(time.Millisecond)
	}

	var reaped []int

	reap := func(pid int) { reaped = append(reaped, pid) }

	seen := round(os.Getpid(), map[int]bool{}, reap)
	if len(reaped) != 0 || !seen[pid] {
		t.Fatalf("first round: reaped %v, seen %v", reaped, seen)
	}

	round(os.Getpid(), seen, reap)

	if !slices.Contains(reaped, pid) {
		t.Errorf("second round: reaped %v, want %d", reaped, pid)
	}

	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &ws, 0, nil); err != nil {
		t.Error(err)
	}
}
