// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestUntil(t *testing.T) {
	unavailable := status.Error(codes.Unavailable, "not yet")
	invalid := fmt.Errorf("apply: %w", status.Error(codes.InvalidArgument, "bad field"))

	tests := []struct {
		name    string
		results []error // the last one repeats
		want    string
		err     string
	}{
		{"at once", []error{nil}, "", ""},
		{"soon", []error{unavailable, unavailable, nil}, "", ""},
		{"refused", []error{unavailable, invalid}, "", "wait until done: apply: rpc error: code = InvalidArgument desc = bad field"},
		{"final", []error{FinalError{errors.New("the machine is off")}}, "", "wait until done: the machine is off"},
		{
			"never", []error{unavailable}, "  … waiting until done: not yet\n",
			"wait until done: too late; last: not yet",
		},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out strings.Builder

				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("too late"))
				defer cancel()

				wait := Wait{
					Say: func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) },
					Try: 10 * time.Second, Every: 250 * time.Millisecond, Final: Final,
				}
				tries := 0
				err := wait.Until(ctx, "done", func(context.Context) error {
					tries++

					return tt.results[min(tries, len(tt.results))-1]
				})

				if got := fmt.Sprint(err); got != tt.err && !(err == nil && tt.err == "") {
					t.Errorf("got error %q, want %q", got, tt.err)
				}

				if d := cmp.Diff(tt.want, out.String()); d != "" {
					t.Errorf("said (-want +got):\n%s", d)
				}
			})
		})
	}
}
