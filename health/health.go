// SPDX-License-Identifier: Apache-2.0

// Package health waits until a cluster is healthy. It is a list of checks, made one after another: each is tried until
// it passes, and says what it waits for in a line whenever that changes, in the words that users of `talosctl health`
// know.
//
//	waiting for etcd to be healthy: ...
//	waiting for etcd to be healthy: OK
//
// A check is a function of what machines know (their resources, etcd, the Kubernetes API), so each is tested on plain
// values. A control plane node makes them of the whole cluster where etcd and Kubernetes see it, and of itself for the rest;
// talosctl, which reaches every machine, of each of them.
package health

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Check is one thing that a healthy cluster has.
type Check struct {
	// Name continues "waiting for", as in "etcd to be healthy".
	Name string
	// Try names what to do next when the check does not pass.
	Try string
	// Run returns what is missing, nil when nothing is, or ErrSkip.
	Run func(ctx context.Context) error
}

// ErrSkip is returned by a check that does not apply to the cluster, such as kube-proxy where it is disabled.
var ErrSkip = errors.New("not configured")

const (
	interval = time.Second
	// attempt is the time that one try may take.
	attempt = 15 * time.Second
)

// Failure is a check that did not pass in time.
type Failure struct {
	Node, Check, Try string
	After            time.Duration
	Cause            error
}

// Error implements error.
func (f *Failure) Error() string {
	return fmt.Sprintf("node %s: gave up after %s waiting for %s: %v; %s", f.Node, f.After.Round(time.Second), f.Check, f.Cause, f.Try)
}

// Unwrap implements error.
func (f *Failure) Unwrap() error { return f.Cause }

// Wait makes the checks in order until all have passed or ctx is done; then the error is a *Failure. The error of
// progress ends it at once.
func Wait(ctx context.Context, node string, checks []Check, progress func(line string) error) error {
	start := time.Now()

	for _, check := range checks {
		if err := wait(ctx, check, progress); err != nil {
			if f := (*Failure)(nil); errors.As(err, &f) {
				f.Node, f.After = node, time.Since(start)
			}

			return err
		}
	}

	return nil
}

func wait(ctx context.Context, check Check, progress func(string) error) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()

	said := ""
	say := func(text string) error {
		if text == said {
			return nil
		}

		said = text

		return progress("waiting for " + check.Name + ": " + text)
	}

	if err := say("..."); err != nil {
		return err
	}

	// last is the cause that a person can use; the one of a try that was cut short by the end of the time is not.
	last := errors.New("there was no time to look")

	for {
		err := try(ctx, check)

		switch {
		case err == nil:
			return say("OK")
		case errors.Is(err, ErrSkip):
			return say("SKIP")
		case ctx.Err() == nil:
			last = err

			if err := say(err.Error()); err != nil {
				return err
			}
		}

		select {
		case <-ctx.Done():
			return &Failure{Check: check.Name, Try: check.Try, Cause: last}
		case <-ticker.C:
		}
	}
}

func try(ctx context.Context, check Check) error {
	if err := ctx.Err(); err != nil {
		return err
	}

	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()

	return check.Run(ctx)
}
