// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reaper_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/nstest"
	"github.com/seed-59268b81/talos/sys/reaper"
	"github.com/seed-59268b81/talos/test/leak"
)

func init() { runtime.LockOSThread() } // main is on the first thread

// TestMain reaps on the first thread, as process 1 does, and runs the tests on another.
func TestMain(m *testing.M) {
	go func() { leak.Main(m) }()

	if err := reaper.Run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestOrphans: process 1 of a PID namespace has no zombie soon after its orphans have ended.
func TestOrphans(t *testing.T) {
	if !nstest.IsolateInit(t) {
		return
	}

	const orphans = 200

	// The shell ends first, and its children then, some together and some alone.
	script := fmt.Sprintf("for i in $(seq %d); do sleep 0.$((i %% 10)) & done", orphans)
	if err := exec.CommandContext(t.Context(), "sh", "-c", script).Run(); err != nil {
		t.Fatal(err)
	}

	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		running, zombies := children(t)
		if running+zombies == 0 {
			return
		}

		if running == 0 {
			// All have ended. An orphan that is not reaped now was missed by the signal.
			time.Sleep(2 * time.Second)

			if _, zombies = children(t); zombies > 0 {
				t.Fatalf("%d zombies two seconds after the last orphan has ended", zombies)
			}

			return
		}

		if time.Now().After(deadline) {
			t.Fatalf("%d orphans still run", running)
		}
	}
}

// children counts the other processes of the namespace.
func children(t *testing.T) (running, zombies int) {
	t.Helper()

	err := errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("proc", "/proc", "proc", 0, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount("/proc", 0)

	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}

	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil || strings.HasPrefix(string(stat), "1 ") {
			continue
		}

		if _, state, _ := strings.Cut(string(stat), ") "); strings.HasPrefix(state, "Z") {
			zombies++
		} else {
			running++
		}
	}

	return running, zombies
}

// TestOwnChildren: the exit status of a child remains, however late its owner reads it, and whichever thread started it.
func TestOwnChildren(t *testing.T) {
	if !nstest.IsolateInit(t) {
		return
	}

	var all []*exec.Cmd

	for i := range 100 {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", fmt.Sprintf("sleep 1000 & kill $!; exit %d", i))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}

		all = append(all, cmd)
	}

	time.Sleep(3 * time.Second) // all have ended, and each has left an orphan

	for want, cmd := range all {
		err := cmd.Wait()

		var exit *exec.ExitError
		if got := cmd.ProcessState.ExitCode(); got != want || err != nil && !errors.As(err, &exit) {
			t.Errorf("child %d: got exit status %d, %v", want, got, err)
		}
	}
}

func TestThread(t *testing.T) {
	got := make(chan error)

	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()

		got <- reaper.Run(t.Context())
	}()

	if err := <-got; !errors.Is(err, reaper.ErrThread) {
		t.Errorf("on another thread: got %v, want %v", err, reaper.ErrThread)
	}
}
