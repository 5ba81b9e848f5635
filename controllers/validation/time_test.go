// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"testing"
	"time"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/validate"
	"github.com/seed-59268b81/talos/controllers/validation"
	"github.com/seed-59268b81/talos/test/yardstick"
)

// newest returns the largest configuration that is generated.
func newest(tb testing.TB) []byte {
	tb.Helper()

	out, err := generate.New("demo", "https://10.5.0.2:6443", "", generate.Options{Contract: generate.Newest, Secrets: configtest.Bundle(tb)})
	if err != nil {
		tb.Fatal(err)
	}

	return out.ControlPlane
}

func read(tb testing.TB, text []byte) {
	tb.Helper()

	cfg, err := config.Decode(text)
	if err == nil {
		_, err = validation.Config(cfg, validate.Container)
	}

	if err != nil {
		tb.Fatal(err)
	}
}

// TestTimeToRead checks the time to decode and validate a configuration, as a machine does with one that comes over the API.
func TestTimeToRead(t *testing.T) {
	const budget = 10 * time.Millisecond

	text, least := newest(t), time.Hour

	for range 20 {
		start := time.Now()

		read(t, text)

		least = min(least, time.Since(start))
	}

	t.Logf("a configuration of %d bytes was read in %v", len(text), least)

	if most := time.Duration(float64(budget) * yardstick.Slowness(t)); least > most {
		t.Errorf("got %v, want %v at most", least, most)
	}
}

// BenchmarkNewest decodes and validates the largest configuration that is generated.
func BenchmarkNewest(b *testing.B) {
	text := newest(b)

	for b.Loop() {
		read(b, text)
	}
}
