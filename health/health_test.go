// SPDX-License-Identifier: Apache-2.0

package health_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/health"
)

// script returns a check that returns the errors one after another, and then always the last.
func script(name string, results ...error) health.Check {
	return health.Check{Name: name, Try: "see: talosctl services", Run: func(context.Context) error {
		err := results[0]
		if len(results) > 1 {
			results = results[1:]
		}

		return err
	}}
}

func TestWait(t *testing.T) {
	var (
		refused = errors.New("connection refused")
		two     = errors.New("2 of 3 are there")
	)

	tests := []struct {
		name    string
		timeout time.Duration
		checks  []health.Check
		want    []string
		err     string
	}{
		{"all pass at once", time.Minute, []health.Check{script("a", nil), script("b", nil)}, []string{
			"waiting for a: ...", "waiting for a: OK", "waiting for b: ...", "waiting for b: OK",
		}, ""},
		{"a cause is reported once", time.Minute, []health.Check{script("a", refused, refused, two, two, two, nil)}, []string{
			"waiting for a: ...", "waiting for a: connection refused", "waiting for a: 2 of 3 are there", "waiting for a: OK",
		}, ""},
		{"one does not apply", time.Minute, []health.Check{script("a", health.ErrSkip), script("b", nil)}, []string{
			"waiting for a: ...", "waiting for a: SKIP", "waiting for b: ...", "waiting for b: OK",
		}, ""},
		{"the time ends", 10 * time.Second, []health.Check{script("a", nil), script("b", refused), script("c", nil)}, []string{
			"waiting for a: ...", "waiting for a: OK", "waiting for b: ...", "waiting for b: connection refused",
		}, "node n: gave up after 10s waiting for b: connection refused; see: talosctl services"},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.timeout)
				defer cancel()

				var got []string

				err := health.Wait(ctx, "n", tt.checks, func(line string) error {
					got = append(got, line)

					return nil
				})

				if d := cmp.Diff(tt.want, got); d != "" {
					t.Errorf("lines (-want +got):\n%s", d)
				}

				if text := errorText(err); text != tt.err {
					t.Errorf("error: got %q, want %q", text, tt.err)
				}

				if tt.err != "" && !errors.Is(err, refused) {
					t.Errorf("the cause is lost: %v", err)
				}
			})
		})
	}
}

// TestWaitForHangingCheck checks that a check that hangs is stopped and tried again, and that its error before stays the cause.
func TestWaitForHangingCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()

		tries := 0
		check := health.Check{Name: "a", Run: func(ctx context.Context) error {
			if tries++; tries == 1 {
				return errors.New("cause")
			}

			<-ctx.Done()

			return ctx.Err()
		}}

		err := health.Wait(ctx, "n", []health.Check{check}, func(string) error { return nil })

		var failure *health.Failure
		if !errors.As(err, &failure) || failure.After != time.Minute {
			t.Fatalf("got %v, want a failure after a minute", err)
		}

		if tries < 3 {
			t.Errorf("got %d tries, want at least 3", tries)
		}
	})
}

func TestWaitEndsWithItsReader(t *testing.T) {
	gone := errors.New("the client is gone")

	err := health.Wait(t.Context(), "n", []health.Check{script("a", nil)}, func(string) error { return gone })
	if !errors.Is(err, gone) {
		t.Errorf("got %v, want %v", err, gone)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}

	return err.Error()
}
