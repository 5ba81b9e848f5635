// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"os"
	"testing"
)

// readLimit is for decoding and validating the largest configuration that is generated, in milliseconds.
const readLimit = 10

// TestConfiguration measures how long a machine takes to read a configuration. The speed of the computer is measured beside each time.
func TestConfiguration(t *testing.T) {
	if os.Getenv(Measure) == "" {
		t.Skip("measures times, which needs the whole computer: run make budgets")
	}

	measured := benchmarks(t, "./controllers/validation", "Newest", "-benchtime", "50x", "-count", "5")

	report("\nthe configuration of a control plane, contract v1.14, medians; on a slower computer the budget is larger")

	for _, text := range []string{"plain", "commented"} {
		for _, step := range []struct{ name, what string }{
			{"decode", "decode"},
			{"validate", "decode and validate"},
			{"accept", "decode and validate as a machine that is given it"},
		} {
			benchmark := "BenchmarkNewest/" + text + "/" + step.name
			took, limit := measured(benchmark, "ms/median"), readLimit*measured(benchmark, "slowness")

			report("%6.2f ms  of %4.1f ms   %s: %s, %.0f kB", took, limit, step.what, text, measured(benchmark, "kB"))

			if took > limit {
				t.Errorf("%s: %s: got %.2f ms, want at most %.1f ms", step.what, text, took, limit)
			}
		}
	}
}
