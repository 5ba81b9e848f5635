// SPDX-License-Identifier: Apache-2.0

// Package health waits until a cluster is healthy. It runs a list of checks, one after another. Each is tried until it passes, and reports
// what it waits for in a line whenever that changes, as users of `talosctl health` know it.
//
//	waiting for etcd to be healthy: ...
//	waiting for etcd to be healthy: OK
//
// A check is a function of resources, etcd's members and the Kubernetes API, so each is tested with plain values. A control plane node checks
// the whole cluster as far as etcd and Kubernetes know it, and otherwise itself; talosctl, which connects to every machine, checks each of
// them.
package health

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Check is one property of a healthy cluster.
type Check struct {
	// Name continues "waiting for", as in "etcd to be healthy".
	Name string
	// Try is what the user can do next when the check does not pass.
	Try string
	// Run returns what is missing, nil if nothing is, or ErrSkip.
	Run func(ctx context.Context) error
}

// ErrSkip is returned by a check that does not apply to the cluster, such as kube-proxy where it is disabled.
var ErrSkip = errors.New("not configured")

const (
	interval = time.Second
	// attempt is the timeout of one try.
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

// Wait runs the checks in order until all have passed or ctx is done; then the error is a *Failure. An error of progress ends it at once.
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

	// last is the cause that is reported: the error of a try that the end of ctx interrupted says nothing.
	last := errors.New("there was no time to check")

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
