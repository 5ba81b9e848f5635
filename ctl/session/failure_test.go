// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestUnfinished: what a command leaves half done is said when it fails, and also when it is interrupted.
func TestUnfinished(t *testing.T) {
	left := func(err error) error { return &Unfinished{err, "n1 is cordoned"} }

	for name, tt := range map[string]struct {
		err                 error
		failed, interrupted string
	}{
		"nothing is left": {fmt.Errorf("wait: %w", context.Canceled), "error: wait: context canceled\n", ""},
		"alone":           {left(context.Canceled), "error: context canceled; n1 is cordoned\n", "interrupted: n1 is cordoned\n"},
		"the refusal of a node": {
			left(fmt.Errorf("apply: %w", status.Error(codes.Aborted, "it has changed"))), "error: apply: it has changed; n1 is cordoned\n", "interrupted: n1 is cordoned\n",
		},
		"of some nodes": {
			errors.Join(&NodeFailure{"a", left(errors.New("no answer"))}, &NodeFailure{"b", errors.New("not begun")}),
			"error: a: no answer; n1 is cordoned\nerror: b: not begun\n", "interrupted: a: n1 is cordoned\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var failed, interrupted strings.Builder

			PrintError(&failed, tt.err)
			PrintInterrupted(&interrupted, tt.err)

			if failed.String() != tt.failed || interrupted.String() != tt.interrupted {
				t.Errorf("got %q and %q, want %q and %q", &failed, &interrupted, tt.failed, tt.interrupted)
			}
		})
	}
}
