// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// maxRedirects is how many redirects in a row a session follows.
const maxRedirects = 5

// redirected is the end of a connection to a source that names another.
type redirected struct{ to string }

// Error implements error.
func (r *redirected) Error() string { return "the source redirects to " + r.to }

// Run connects, and connects again when a connection ends, until the context ends.
func (s *Session) Run(ctx context.Context) error {
	if s.keyErr != nil {
		return fmt.Errorf("discovery source %s: %w", s.options.Name, s.keyErr)
	}

	defer s.stopExpiry()

	endpoint, redirects := s.options.Endpoint, 0

	for {
		began := time.Now()
		published, err := s.connection(ctx, endpoint)
		if ctx.Err() != nil {
			return nil
		}

		if to, ok := errors.AsType[*redirected](err); ok && redirects < maxRedirects {
			if _, _, err := net.SplitHostPort(to.to); err == nil {
				s.log.Info("redirected", "endpoint", to.to)

				endpoint = to.to
				redirects++

				continue
			}
		}

		if !published {
			// The source that was redirected to may be gone.
			endpoint = s.options.Endpoint
		}

		// A source that ends each connection soon has trouble enough.
		if published && time.Since(began) >= steady {
			s.backoff.reset()
		}

		redirects = 0
		delay := s.backoff.delay()

		s.fail(StateConnecting, fmt.Errorf("discovery source %s (%s): %w", s.options.Name, endpoint, err))
		s.log.Debug("connection ended", "error", err, "retry", delay)

		select {
		case <-ctx.Done():
			return nil
		case <-time.After(delay):
		}
	}
}

// stopExpiry stops the timer of missing members.
func (s *Session) stopExpiry() {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.expiry != nil {
		s.expiry.Stop()
		s.expiry = nil
	}
}

// expireMissing drops members that the source has not sent again in time, and sets the timer for the next ones. The lock is held.
func (s *Session) expireMissing() {
	changed, next := s.table.expire(time.Now())
	if changed {
		s.touch()
	}

	if s.expiry != nil {
		s.expiry.Stop()
		s.expiry = nil
	}

	if next.IsZero() {
		return
	}

	s.expiry = time.AfterFunc(time.Until(next), func() {
		s.mu.Lock()
		defer s.mu.Unlock()

		if s.expiry != nil {
			s.expireMissing()
		}
	})
}
