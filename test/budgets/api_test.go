// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/build/artifact"
)

const (
	// versionLimit is for the client's start, which is part of every command.
	versionLimit = 50 * time.Millisecond
	// callLimit is how much longer a call takes through apid than without it, in microseconds.
	callLimit = 300
	// loadLimit is all of apid's memory at a thousand calls a second, in MiB.
	loadLimit = 40
)

// TestClient measures how long talosctl takes for a command that does nothing.
func TestClient(t *testing.T) {
	if os.Getenv(Measure) == "" {
		t.Skip("measures times, which needs the whole computer: run make budgets")
	}

	built, err := artifact.Find()
	if err != nil {
		t.Fatal(err)
	}

	const runs = 20

	var took []time.Duration

	for range runs {
		began := time.Now()

		//program:built talosctl
		if text, err := exec.CommandContext(t.Context(), built.Bin("talosctl"), "version", "--client").CombinedOutput(); err != nil {
			t.Fatalf("talosctl version --client: %v: %s", err, text)
		}

		took = append(took, time.Since(began))
	}

	slices.Sort(took)
	median, limit := took[runs/2], slower(t, versionLimit)

	report("\nthe client and the API\n")
	report("%6.1f ms  of %3d ms   talosctl version --client, median of %d", float64(median.Microseconds())/1e3, limit.Milliseconds(), runs)

	if median > limit {
		t.Errorf("talosctl version --client: got a median of %s, want at most %s", median, limit)
	}
}

// TestAPI measures the cost of apid with its benchmarks.
func TestAPI(t *testing.T) {
	if os.Getenv(Measure) == "" {
		t.Skip("measures times, which needs the whole computer: run make budgets")
	}

	measured := benchmarks(t, "./apid", "Version|ThousandASecond", "-benchtime", "2s", "-count", "3")
	figure := func(benchmark, unit string) int { return int(measured(benchmark, unit)) }

	direct, through := figure("BenchmarkVersion/direct", "µs/median"), figure("BenchmarkVersion/through_apid", "µs/median")
	report("%6d µs  of %3d µs   a call through apid, over the %d µs of the same call on machined's socket", through-direct, callLimit, direct)

	if through-direct > callLimit {
		t.Errorf("a call through apid: got %d µs more than the %d µs without, want at most %d", through-direct, direct, callLimit)
	}

	peak, rate := figure("BenchmarkThousandASecond", "MiB/peak"), figure("BenchmarkThousandASecond", "calls/s")
	report("%6d MiB of %3d MiB  resident, apid at %d calls a second", peak, loadLimit, rate)

	if peak > loadLimit {
		t.Errorf("apid at %d calls a second: got %d MiB, want at most %d", rate, peak, loadLimit)
	}

	if rate < 950 {
		t.Errorf("apid: got %d calls a second, want 1000: the computer is too busy to measure on", rate)
	}
}
