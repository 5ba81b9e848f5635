// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"os"
	"testing"
)

// Limits of the discovery service, of which machines carry one.
const (
	// refreshLimit is for a call that changes nothing, with 1,000 watchers, in milliseconds.
	refreshLimit = 0.2
	// joinLimit and crowdJoinLimit are for the time until 99 % of 1,000 and of 5,000 watchers know a new member, in milliseconds.
	joinLimit, crowdJoinLimit = 24, 150
	// watchedLimit is for the private memory of a service with 1,000 watchers over TLS that have all come at once, in MB.
	watchedLimit = 80
	// restartLimit is until 5,000 sessions know all that has changed while the service was away, after it is back, in seconds; and
	// restartWork for the processor time of the service and all sessions.
	restartLimit, restartWork = 10, 15
)

// TestDiscovery measures the discovery service with its benchmarks.
func TestDiscovery(t *testing.T) {
	if os.Getenv(Measure) == "" {
		t.Skip("measures times, which needs the whole computer: run make budgets")
	}

	check := func(got, limit float64, unit, what string) {
		t.Helper()

		report("%8.2f %-2s of %5.4g %-2s  %s", got, unit, limit, unit, what)

		if got > limit {
			t.Errorf("%s: got %.2f %s, want at most %g", what, got, unit, limit)
		}
	}

	service := benchmarks(t, "./discovery/server", "Refresh|Join|Memory", "-benchtime", "20x")

	report("\nthe discovery service\n")
	check(service("BenchmarkRefresh", "ms/median"), refreshLimit, "ms", "a refresh that changes nothing, 1,000 watchers")
	check(service("BenchmarkRefresh", "messages/refresh"), 0, "", "messages for it")
	check(service("BenchmarkJoin/1000", "ms/p99"), joinLimit, "ms", "until a new member is known to 99 % of 1,000 watchers")
	check(service("BenchmarkJoin/5000", "ms/p99"), crowdJoinLimit, "ms", "of 5,000 watchers")
	check(service("BenchmarkMemory", "MiB/anonymous")*(1<<20)/1e6, watchedLimit, "MB", "private memory with 1,000 watchers")

	sessions := benchmarks(t, "./discovery/client", "Restart", "-benchtime", "1x")

	for _, with := range []string{"snapshot", "forgotten"} {
		check(sessions("BenchmarkRestart/"+with, "s/right"), restartLimit, "s", "until 5,000 sessions are right after a restart, "+with)
		check(sessions("BenchmarkRestart/"+with, "cpu-s/right"), restartWork, "s", "processor time for it, of all sessions and the service")
	}
}
