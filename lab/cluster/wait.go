// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/client"
)

// sayEvery is how often a changing cause of waiting is printed.
const sayEvery = 5 * time.Second

// Wait defines how the steps of a cluster are tried and reported.
type Wait struct {
	// Say prints the progress.
	Say func(format string, args ...any)
	// Try is the timeout of one try, and Every the pause between two.
	Try, Every time.Duration
	// Final reports whether an error ends the tries; without it, none does.
	Final func(error) bool
}

// Until tries until it succeeds, fails with a final error, or ctx ends. It prints the cause of waiting when it changes.
func (w Wait) Until(ctx context.Context, goal string, try func(context.Context) error) error {
	var (
		last, said string
		saidAt     = time.Now()
	)

	for {
		one, cancel := context.WithTimeout(ctx, w.Try)
		err := try(one)

		cancel()

		if err == nil {
			return nil
		}

		// The error of a try that ended with ctx is not the cause.
		if ctx.Err() == nil || last == "" {
			last = Cause(err)
		}

		if ctx.Err() != nil {
			return fmt.Errorf("wait until %s: %w; last: %s", goal, context.Cause(ctx), last)
		}

		if w.Final != nil && w.Final(err) {
			return fmt.Errorf("wait until %s: %w", goal, err)
		}

		if last != said && time.Since(saidAt) > sayEvery {
			w.Say("  … waiting until %s: %s", goal, last)

			said, saidAt = last, time.Now()
		}

		select {
		case <-time.After(w.Every):
		case <-ctx.Done():
		}
	}
}

// FinalError is an error for which another try does not help.
type FinalError struct{ Err error }

func (e FinalError) Error() string { return e.Err.Error() }
func (e FinalError) Unwrap() error { return e.Err }

// Final reports whether another try does not help after an error, while a cluster is made.
func Final(err error) bool {
	if errors.As(err, &FinalError{}) {
		return true
	}

	switch status.Code(err) {
	case codes.InvalidArgument, codes.PermissionDenied, codes.AlreadyExists, codes.Unimplemented:
		return true
	default:
		return false
	}
}

// connection matches the two ends of a connection, which differ with each try.
var connection = regexp.MustCompile(`\b(read|write) tcp \S+->\S+: `)

// Cause returns an error on one line, without the parts that differ with each try.
func Cause(err error) string {
	cause, _ := client.Explain(err)

	return connection.ReplaceAllString(strings.Join(strings.Fields(cause), " "), "")
}
