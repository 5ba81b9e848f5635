// SPDX-License-Identifier: Apache-2.0

//go:build linux

package time

import (
	"slices"
	"time"
)

// The limits of the discipline; those of RFC 5905 where it has them.
const (
	// stepThreshold is the offset from which the clock is set instead of adjusted.
	stepThreshold = 128 * time.Millisecond
	// epochThreshold is the step from which certificates and leases must be looked at again.
	epochThreshold = 15 * time.Minute
	minPoll        = 32 * time.Second
	maxPoll        = 1024 * time.Second
	// firstRetry is the pause while no server has answered yet: a machine that boots waits for the time. After
	// patience failures it is retry.
	firstRetry = time.Second
	retry      = 15 * time.Second
	patience   = 20
	// panicThreshold is the step that a clock which was set before takes only when several servers agree on it: a single one
	// cannot move a running machine out of the life of its certificates.
	panicThreshold = 1000 * time.Second
	// spikes is how many outliers in a row are believed after all.
	spikes = 3
	// samples that the expected spread is judged by.
	samples = 8
)

// correction is what a sample leads to.
type correction struct {
	// spike samples are ignored.
	spike bool
	// refused samples are ignored too: they are beyond what one server is believed.
	refused bool
	// step sets the clock, otherwise it is slewed.
	step bool
	// epoch tells that time has jumped.
	epoch bool
	// poll is the pause until the next question.
	poll time.Duration
}

// discipline decides, from one sample after the other, what to do with the clock. It touches nothing itself.
type discipline struct {
	synced  bool
	history []time.Duration // of the magnitudes of the last offsets
	spikes  int
	poll    time.Duration
}

// sample takes a measured offset, with the round trip that bounds its error and the number of servers that agree on it.
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

// isSpike tells that an offset is far out of what has been seen: a delayed packet more often than a wrong clock.
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

// constant of the kernel's loop for a poll interval: log2 of its seconds, less four.
func constant(poll time.Duration) int {
	c := 0
	for s := int(poll / time.Second); s > 16; s /= 2 {
		c++
	}

	return c
}
