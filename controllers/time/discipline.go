// SPDX-License-Identifier: Apache-2.0

//go:build linux

package time

import (
	"slices"
	"time"
)

// The limits of the discipline; from RFC 5905 if it defines them.
const (
	// stepThreshold is the offset from which the clock is set instead of adjusted.
	stepThreshold = 128 * time.Millisecond
	// epochThreshold is the step from which certificates and leases must be checked again.
	epochThreshold = 15 * time.Minute
	minPoll        = 32 * time.Second
	maxPoll        = 1024 * time.Second
	// firstRetry is the pause while no server has answered: a machine that boots waits for the time. After patience failures the pause
	// is retry.
	firstRetry = time.Second
	retry      = 15 * time.Second
	patience   = 20
	// panicThreshold is the step from which several servers must agree, once the clock was set: a single server must not move a running
	// machine out of the lifetime of its certificates.
	panicThreshold = 1000 * time.Second
	// spikes is the number of consecutive outliers after which one is accepted.
	spikes = 3
	// samples is the number of offsets from which the expected spread is computed.
	samples = 8
)

// correction is the result of a sample.
type correction struct {
	// spike samples are ignored.
	spike bool
	// refused samples are ignored too: the offset is too large to trust a single server.
	refused bool
	// step sets the clock, otherwise it is slewed.
	step bool
	// epoch is set when the time has jumped.
	epoch bool
	// poll is the pause until the next query.
	poll time.Duration
}

// discipline decides for each sample what to do with the clock. It has no side effects.
type discipline struct {
	synced  bool
	history []time.Duration // of the magnitudes of the last offsets
	spikes  int
	poll    time.Duration
}

// sample returns the correction for a measured offset, with the round trip that bounds its error and the number of servers that agree.
func (d *discipline) sample(offset, roundTrip time.Duration, agree int) correction {
	magnitude := offset.Abs()

	if d.synced && magnitude > panicThreshold && agree < 2 {
		d.spikes++

		return correction{refused: true, poll: minPoll}
	}

	if d.synced && d.isSpike(magnitude, roundTrip) && d.spikes < spikes {
		d.spikes++

		return correction{spike: true, poll: minPoll}
	}

	d.spikes = 0

	c := correction{step: magnitude >= stepThreshold, epoch: magnitude >= epochThreshold}

	switch {
	case !d.synced || c.step:
		d.history, d.poll = nil, minPoll
	case magnitude < roundTrip/2+time.Millisecond:
		d.poll = min(2*d.poll, maxPoll)
	default:
		d.poll = max(d.poll/2, minPoll)
	}

	d.synced = true
	d.history = append(slices.Clip(d.history), magnitude)
	d.history = d.history[max(0, len(d.history)-samples):]
	c.poll = d.poll

	return c
}

// isSpike reports whether an offset is far from the earlier ones: usually a packet was delayed, and the clock is right.
func (d *discipline) isSpike(magnitude, roundTrip time.Duration) bool {
	if len(d.history) < samples/2 {
		return false
	}

	var sum time.Duration
	for _, h := range d.history {
		sum += h
	}

	return magnitude > 4*(sum/time.Duration(len(d.history)))+roundTrip+10*time.Millisecond
}

// constant returns the constant of the kernel's loop for a poll interval: log2 of its seconds, minus four.
func constant(poll time.Duration) int {
	c := 0
	for s := int(poll / time.Second); s > 16; s /= 2 {
		c++
	}

	return c
}
