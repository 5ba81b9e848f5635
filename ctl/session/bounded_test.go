// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/status"
)

func TestBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()

		_, err := Bounded(t.Context(), Node{}, func(_ Node, ctx context.Context) (int, error) {
			<-ctx.Done()

			return 0, ctx.Err()
		})
		if !errors.Is(err, errNoAnswer) || time.Since(began) != answerTimeout {
			t.Errorf("got %v after %s, want %v after %s", err, time.Since(began), errNoAnswer, answerTimeout)
		}
	})
}

// TestNoAnswerIsSaidOnce: for a node that times out, the operation, the cause and what to try are printed once.
func TestNoAnswerIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := Bounded(t.Context(), Node{}, func(_ Node, ctx context.Context) (int, error) {
			<-ctx.Done()

			return 0, fmt.Errorf("list mounts: %w", status.FromContextError(ctx.Err()).Err())
		})

		var got strings.Builder

		PrintError(&got, &NodeFailure{node: "a", err: err})

		const want = "error: a: no answer in 30s: list mounts: context deadline exceeded\n" +
			"  try: check that the machine is up and reachable (talosctl config info shows the endpoints)\n"
		if diff := cmp.Diff(want, got.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
