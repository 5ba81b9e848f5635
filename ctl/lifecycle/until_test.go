// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestUntil: the error of a timeout has the last failure. A result that comes after the timeout does not count.
func TestUntil(t *testing.T) {
	failed := errors.New("get machine: no such node")

	for _, tt := range []struct {
		name  string
		holds func(ctx context.Context, asked int) (bool, error)
		want  string
		took  time.Duration
	}{
		{"at once", func(context.Context, int) (bool, error) { return true, nil }, "", 0},
		{"after failures", func(_ context.Context, asked int) (bool, error) { return asked == 3, failed }, "", 2 * pollInterval},
		{"never", func(context.Context, int) (bool, error) { return false, nil }, "wait for it: timed out (--timeout)", time.Minute},
		{"failing", func(context.Context, int) (bool, error) { return false, failed }, "wait for it: timed out (--timeout): get machine: no such node", time.Minute},
		{"too late", func(ctx context.Context, _ int) (bool, error) {
			<-ctx.Done()

			return true, ctx.Err()
		}, "wait for it: timed out (--timeout)", time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errTimeout)
				defer cancel()

				began, asked := time.Now(), 0

				err := until(ctx, "for it", func() (bool, error) {
					asked++

					return tt.holds(ctx, asked)
				})

				if got := fmt.Sprint(err); tt.want == "" && err != nil || tt.want != "" && got != tt.want {
					t.Errorf("got %s, want %q", got, tt.want)
				}

				if took := time.Since(began); took != tt.took {
					t.Errorf("it took %s, want %s", took, tt.took)
				}
			})
		})
	}
}
