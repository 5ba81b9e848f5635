// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/client"
)

const (
	// tryEvery is the pause between two tries.
	tryEvery = 250 * time.Millisecond
	// tryTime is how long one try may take.
	tryTime = 10 * time.Second
	// sayEvery is how often the cause of waiting is told while it changes.
	sayEvery = 5 * time.Second
)

// steps prints what is done and waited for, each line with the time since the
// beginning.
type steps struct {
	out   io.Writer
	start time.Time
}

func newSteps(out io.Writer) *steps { return &steps{out: out, start: time.Now()} }

func (s *steps) say(format string, args ...any) {
	fmt.Fprintf(s.out, "%7.1fs  %s\n", time.Since(s.start).Seconds(), fmt.Sprintf(format, args...))
}

// left is the time until a deadline, with some of it spared for the answer that
// it has passed.
func (s *steps) left(deadline time.Time) time.Duration {
	return max(time.Until(deadline)-time.Second, time.Second)
}

// until tries until it succeeds, fails for good, or ctx ends, and tells the
// cause of waiting when it changes.
func (s *steps) until(ctx context.Context, goal string, try func(context.Context) error) error {
	var (
		last, said string
		saidAt     = time.Now()
	)

	for {
		one, cancel := context.WithTimeout(ctx, tryTime)
		err := try(one)

		cancel()

		if err == nil {
			return nil
		}

		if ctx.Err() != nil { // the try may have failed for that alone
			return fmt.Errorf("wait until %s: %w; last: %s", goal, context.Cause(ctx), last)
		}

		last = oneLine(err)

		if final(err) {
			return fmt.Errorf("wait until %s: %w", goal, err)
		}

		if last != said && time.Since(saidAt) > sayEvery {
			s.say("  … waiting until %s: %s", goal, last)

			said, saidAt = last, time.Now()
		}

		select {
		case <-time.After(tryEvery):
		case <-ctx.Done():
		}
	}
}

// finalError is an error that another try does not mend.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

// final tells whether another try is of no use.
func final(err error) bool {
	if errors.As(err, &finalError{}) {
		return true
	}

	switch status.Code(err) {
	case codes.InvalidArgument, codes.PermissionDenied, codes.AlreadyExists, codes.Unimplemented:
		return true
	default:
		return false
	}
}

// connection is the two ends of a connection, which differ with each try.
var connection = regexp.MustCompile(`\b(read|write) tcp \S+->\S+: `)

func oneLine(err error) string {
	cause, _ := client.Explain(err)

	return connection.ReplaceAllString(strings.Join(strings.Fields(cause), " "), "")
}
