// SPDX-License-Identifier: Apache-2.0

//go:build linux

package time

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/beevik/ntp"

	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/sys/clock"
)

// Sample is what one server says.
type Sample struct {
	// Offset of our clock: what to add to it. RoundTrip of the packets bounds its error, as seen from this server; Distance is
	// the error with all that lies between the server and the clock that it follows.
	Offset, RoundTrip, Distance time.Duration
	// Leap is the second that the server announces for the end of the day.
	Leap clock.Leap
}

// KissError is a server that asks for fewer questions, or for none (RFC 5905, 7.4).
type KissError struct{ Code string }

// Error implements error.
func (e *KissError) Error() string {
	return fmt.Sprintf("it asks to be left alone (kiss of death, %q)", e.Code)
}

// pause is how long the server is not asked.
func (e *KissError) pause() time.Duration {
	if e.Code == "RATE" {
		return maxPoll
	}

	return 24 * time.Hour // it denies us its service
}

const (
	// queryTimeout of one question.
	queryTimeout = 3 * time.Second
	// maxDistance of a server to the clock that it follows: MAXDISP of RFC 5905, and the way to the server.
	maxDistance = 16*time.Second + queryTimeout
)

func queryNTP(ctx context.Context, server string) (Sample, error) {
	timeout := queryTimeout
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline))
	}

	return query(server, ntp.QueryOptions{Timeout: timeout})
}

// query asks a server. Whatever it answers is a sample or an error.
func query(server string, options ntp.QueryOptions) (Sample, error) {
	var resp *ntp.Response

	err := guard.Call(func() (err error) {
		resp, err = ntp.QueryWithOptions(server, options)

		return err
	})
	if err == nil {
		err = resp.Validate()
	}

	if errors.Is(err, ntp.ErrKissOfDeath) {
		err = &KissError{Code: resp.KissCode}
	}

	// The server's own times are in it: an error without bounds would agree with any other server, and excuse any offset.
	if err == nil && (resp.RTT < 0 || resp.RTT > queryTimeout || resp.RootDistance > maxDistance) {
		err = fmt.Errorf("its times make no sense: a round trip of %s, a distance of %s", resp.RTT, resp.RootDistance)
	}

	if err != nil {
		return Sample{}, fmt.Errorf("ask %s for the time: %w", server, err)
	}

	sample := Sample{Offset: resp.ClockOffset, RoundTrip: resp.RTT, Distance: max(resp.RootDistance, resp.RTT/2)}

	switch resp.Leap {
	case ntp.LeapAddSecond:
		sample.Leap = clock.LeapInsert
	case ntp.LeapDelSecond:
		sample.Leap = clock.LeapDelete
	case ntp.LeapNoWarning, ntp.LeapNotInSync: // Validate refuses the latter
	}

	return sample, nil
}
