// SPDX-License-Identifier: Apache-2.0

//go:build linux

package time

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/beevik/ntp"

	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/sys/clock"
)

// Sample is the answer of one server.
type Sample struct {
	// Offset is what to add to our clock. RoundTrip is that of the packets, and bounds the error relative to this server; Distance is the
	// error relative to the reference clock that the server follows.
	Offset, RoundTrip, Distance time.Duration
	// Leap is the leap second that the server announces for the end of the day.
	Leap clock.Leap
}

// KissError is the error of a server that requests fewer queries, or none (RFC 5905, 7.4).
type KissError struct{ Code string }

// Error implements error.
func (e *KissError) Error() string {
	return fmt.Sprintf("the server refuses queries (kiss of death, %q)", e.Code)
}

// pause returns how long the server must not be queried.
func (e *KissError) pause() time.Duration {
	if e.Code == "RATE" {
		return maxPoll
	}

	return 24 * time.Hour // the server denies service
}

const (
	// queryTimeout is the timeout of one query.
	queryTimeout = 3 * time.Second
	// maxDistance is the largest distance of a server: MAXDISP of RFC 5905, and the path to the server.
	maxDistance = 16*time.Second + queryTimeout
)

// queryAny queries a time server, or reads a clock of the Precision Time Protocol: a path below /dev.
func queryAny(ctx context.Context, server string) (Sample, error) {
	if strings.HasPrefix(server, devices) {
		return readPTP(server)
	}

	return queryNTP(ctx, server)
}

// devices is the beginning of the names of clocks that are devices.
const devices = "/dev/"

// ptpDistance is the error of a clock of the Precision Time Protocol relative to its reference, which nothing tells.
const ptpDistance = time.Millisecond

func readPTP(device string) (Sample, error) {
	r, err := clock.ReadPTP(device)

	return Sample{Offset: r.Offset, RoundTrip: r.Took, Distance: r.Took/2 + ptpDistance}, err
}

func queryNTP(ctx context.Context, server string) (Sample, error) {
	timeout := queryTimeout
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline))
	}

	return query(server, ntp.QueryOptions{Timeout: timeout})
}

// query queries a server. Any answer becomes a sample or an error.
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

	// These times come from the server: with an unbounded error it would agree with any other server.
	if err == nil && (resp.RTT < 0 || resp.RTT > queryTimeout || resp.RootDistance > maxDistance) {
		err = fmt.Errorf("times out of range: round trip %s, distance %s", resp.RTT, resp.RootDistance)
	}

	if err != nil {
		return Sample{}, fmt.Errorf("query time server %s: %w", server, err)
	}

	sample := Sample{Offset: resp.ClockOffset, RoundTrip: resp.RTT, Distance: max(resp.RootDistance, resp.RTT/2)}

	switch resp.Leap {
	case ntp.LeapAddSecond:
		sample.Leap = clock.LeapInsert
	case ntp.LeapDelSecond:
		sample.Leap = clock.LeapDelete
	case ntp.LeapNoWarning, ntp.LeapNotInSync: // Validate refuses LeapNotInSync
	}

	return sample, nil
}
