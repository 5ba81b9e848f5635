// SPDX-License-Identifier: Apache-2.0

package rotateca

import (
	"context"
	"fmt"
	"time"
)

const (
	// interval is the time between two looks at a node.
	interval = time.Second
	// attempt is the timeout of a look.
	attempt = 20 * time.Second
)

// wait tries a check until it has succeeded twice in a row: what a change restarts may still be about to stop at the first.
func (r *run) wait(ctx context.Context, what string, check func(context.Context) error) error {
	var (
		p      = patience{until: time.Now().Add(r.timeout)}
		passed bool
		said   string
	)

	for {
		err := func() error {
			ctx, cancel := context.WithTimeout(ctx, attempt)
			defer cancel()

			return check(ctx)
		}()

		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("wait for %s: %w", what, ctx.Err())
		case err == nil && passed:
			return nil
		case err == nil:
			passed = true
		default:
			passed = false

			if text := err.Error(); text != said {
				said = text
				r.say("  %s: waiting: %s", what, text)
			}

			var end error

			if p, end = p.after(err, time.Now()); end != nil {
				// The text of a status inside would be taken for the whole error.
				return fmt.Errorf("wait for %s: %s", what, end.Error())
			}
		}

		select {
		case <-ctx.Done():
		case <-time.After(interval):
		}
	}
}
