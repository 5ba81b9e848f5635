// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"log/slog"
	"net/http/httptrace"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed-59268b81/talos/cosi/guard"
)

// A network that changes all the time does not keep the machine from its configuration, and does not make it ask all the time: after so many
// changes in a minute an attempt has some time before another one ends it, and pauses are as long as without changes.
const (
	freeChanges   = 20
	freeTime      = time.Minute
	unhurriedTime = 5 * time.Second
	hurriedPause  = 50 * time.Millisecond
)

// haste has the times of the latest changes that caused an attempt.
type haste []time.Time

// note records a change.
func (h *haste) note(now time.Time) { *h = append(*h, now) }

// free reports whether a change may cause another attempt.
func (h *haste) free(now time.Time) bool {
	*h = slices.DeleteFunc(*h, func(at time.Time) bool { return now.Sub(at) >= freeTime })

	return len(*h) < freeChanges
}

// attempt asks the platform once. A change of the network ends it, unless the platform has begun to answer; changed reports that. free is
// whether a change ends it at once.
func (r *remote) attempt(ctx context.Context, hurry <-chan struct{}, free bool, log *slog.Logger) (text []byte, changed bool, err error) {
	if r.login != nil { // a person may have begun to log in
		text, err = r.once(ctx, log)

		return text, false, err
	}

	var (
		answering, ended atomic.Bool
		least            <-chan time.Time // until then changes do not end the attempt
	)

	ctx, cancel := context.WithCancel(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotFirstResponseByte: func() { answering.Store(true) },
	}))

	if !free {
		least = time.After(unhurriedTime)
	}

	watched := guard.Go(func() error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-hurry:
			}

			if least != nil {
				select {
				case <-ctx.Done():
					return nil
				case <-least:
					least = nil
				}
			}

			if !answering.Load() {
				ended.Store(true)
				cancel()
			}
		}
	})

	text, err = r.once(ctx, log)

	cancel()
	<-watched

	return text, err != nil && ended.Load(), err
}
