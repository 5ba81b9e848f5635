// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"log/slog"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/seed-59268b81/talos/cosi/guard"
)

// A network that changes all the time does not keep the machine from its configuration: after the first changes an attempt has some time
// before another one ends it.
const (
	freeChanges   = 20
	unhurriedTime = 5 * time.Second
	hurriedPause  = 50 * time.Millisecond
)

// attempt asks the platform once. A change of the network ends it, unless the platform has begun to answer; changed reports that. hurried is
// the number of attempts that ended so before.
func (r *remote) attempt(ctx context.Context, hurry <-chan struct{}, hurried int, log *slog.Logger) (text []byte, changed bool, err error) {
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

	if hurried >= freeChanges {
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
