// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/validate"
	"github.com/seed-59268b81/talos/controllers/validation"
	"github.com/seed-59268b81/talos/test/yardstick"
)

// newest returns the largest configurations that are generated, by name: with documents alone, and with comments of all keys and examples.
func newest(tb testing.TB) map[string][]byte {
	tb.Helper()

	texts := map[string][]byte{}

	for name, comments := range map[string]bool{"plain": false, "commented": true} {
		out, err := generate.New("demo", "https://10.5.0.2:6443", "", generate.Options{
			Contract: generate.Newest, Docs: comments, Examples: comments, Secrets: configtest.Bundle(tb),
		})
		if err != nil {
			tb.Fatal(err)
		}

		texts[name] = out.ControlPlane
	}

	return texts
}

// validator checks a decoded configuration.
type validator func(*config.Config, validate.Mode) (warnings []string, err error)

func read(tb testing.TB, text []byte, check validator) {
	tb.Helper()

	cfg, err := config.Decode(text)
	if err == nil && check != nil {
		_, err = check(cfg, validate.Metal)
	}

	if err != nil {
		tb.Fatal(err)
	}
}

// processorTime is that of this process.
func processorTime(tb testing.TB) time.Duration {
	tb.Helper()

	var used unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &used); err != nil {
		tb.Fatal(err)
	}

	return time.Duration(used.Nano())
}

// spent returns how long a function takes at most on an idle computer: the time without that of other programs, and without that of the garbage
// collector on another core, whichever is less.
func spent(tb testing.TB, do func()) time.Duration {
	tb.Helper()

	start, before := time.Now(), processorTime(tb)

	do()

	return min(time.Since(start), processorTime(tb)-before)
}

// TestTimeToRead checks the time to decode and validate a configuration, as a machine does with one that comes over the API.
func TestTimeToRead(t *testing.T) {
	const budget = 10 * time.Millisecond

	for name, text := range newest(t) {
		t.Run(name, func(t *testing.T) {
			least := time.Hour

			for range 50 {
				least = min(least, spent(t, func() { read(t, text, validation.Config) }))
			}

			t.Logf("a configuration of %d bytes was read in %v", len(text), least)

			if most := time.Duration(float64(budget) * yardstick.Slowness(t)); least > most {
				t.Errorf("got %v, want %v at most", least, most)
			}
		})
	}
}

// BenchmarkNewest decodes the largest configurations that are generated, decodes and validates them, and does both as a machine does, which
// also calls the functions that render command lines, pods and files. make budgets compares the times with their budget.
func BenchmarkNewest(b *testing.B) {
	for name, text := range newest(b) {
		for step, check := range map[string]validator{"decode": nil, "validate": validate.Validate, "accept": validation.Config} {
			b.Run(name+"/"+step, func(b *testing.B) {
				var took []time.Duration

				for b.Loop() {
					took = append(took, spent(b, func() { read(b, text, check) }))
				}

				slices.Sort(took)
				b.ReportMetric(took[len(took)/2].Seconds()*1e3, "ms/median")
				b.ReportMetric(yardstick.Slowness(b), "slowness")
				b.ReportMetric(float64(len(text))/1e3, "kB")
			})
		}
	}
}
