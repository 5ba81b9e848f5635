// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package yardstick measures how much slower a computer is than the one that limits of processor time are for. Shared computers differ by a
// factor of three from hour to hour.
package yardstick

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// usual is the processor time of the work on the computer that the limits are for.
const usual = 25 * time.Millisecond

// Slowness returns 1 for a computer that is as fast as the limits suppose or faster, 2 for one that takes twice as long.
func Slowness(tb testing.TB) float64 {
	tb.Helper()
	runtime.LockOSThread()

	defer runtime.UnlockOSThread()

	before := ofThread(tb)

	if !work() {
		tb.Fatal("the work has another result")
	}

	took := ofThread(tb) - before
	slowness := max(1, took.Seconds()/usual.Seconds())

	tb.Logf("the yardstick took %s: limits of processor time are multiplied by %.2f", took, slowness)

	return slowness
}

// work uses memory, compares and hashes.
func work() bool {
	const many = 100_000

	numbers := rand.New(rand.NewPCG(1, 2)).Perm(many)
	seen := make(map[int]int, many)

	for i, n := range numbers {
		seen[n] = i
	}

	first := numbers[0]
	slices.Sort(numbers)

	return seen[first] == 0 && slices.IsSorted(numbers)
}

func ofThread(tb testing.TB) time.Duration {
	tb.Helper()

	var used unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used); err != nil {
		tb.Fatal(err)
	}

	return time.Duration(used.Nano())
}
