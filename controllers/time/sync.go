// SPDX-License-Identifier: Apache-2.0

//go:build linux

package time

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/network"
	timeres "github.com/seed-59268b81/talos/resources/time"
	"github.com/seed-59268b81/talos/sys/clock"
	"github.com/seed-59268b81/talos/version"
)

// Clock is what the controller does to the world; tests have their own.
type Clock struct {
	// Query asks a server.
	Query func(ctx context.Context, server string) (Sample, error)
	Step  func(offset time.Duration) error
	Slew  func(offset time.Duration, constant int, leap clock.Leap) error
	// Earliest is a time that has passed for sure; no server is believed that says an earlier one.
	Earliest time.Time
}

// System is the real clock, asked over NTP.
var System = Clock{Query: queryNTP, Step: setBoth, Slew: clock.Slew, Earliest: built()}

// setBoth sets the kernel's clock and the hardware's. A computer without the latter is none the worse.
func setBoth(offset time.Duration) error {
	if err := clock.Step(offset); err != nil {
		return err
	}

	_ = clock.SetHardware()

	return nil
}

// built is when this version was, if that is known.
func built() time.Time {
	t, err := time.Parse(time.RFC3339, version.Built)
	if err != nil {
		return time.Time{}
	}

	return t
}

// SyncController keeps the clock in step with the time servers. The status says synced from the first answer on; its
// epoch counts the jumps of the clock, after which whoever relies on time (certificates, leases) looks again.
//
// All servers are asked at once, and what most of them agree on counts (agree). A clock that was set before takes a step of
// more than 1000 seconds only from two that agree; no server is believed that says a time before this version was
// made. Answers are not authenticated: who is on the way of all of them can still tell any time at the first look.
//
// With machine.time.disabled, or when bootTimeout is over before any server has answered, it says so and the machine
// goes on with the clock that it has.
type SyncController struct{ Clock Clock }

// Name implements controller.Controller.
func (*SyncController) Name() string { return "time.SyncController" }

// Inputs implements controller.Controller.
func (*SyncController) Inputs() []controller.Input {
	return []controller.Input{
		controller.In[config.MachineConfigSpec](controller.Weak, "", config.ActiveID),
		controller.In[network.TimeServerStatusSpec](controller.Weak, "", network.TimeServerID),
	}
}

// Outputs implements controller.Controller.
func (*SyncController) Outputs() []controller.Output {
	return []controller.Output{
		controller.Out[timeres.StatusSpec](controller.Exclusive),
		controller.Out[timeres.NTPStatusSpec](controller.Exclusive),
	}
}

// Run implements controller.Controller. A question is asked beside the loop: better servers, which DHCP may bring any
// moment, do not wait until those before them are found dead.
func (c *SyncController) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	l := &loop{SyncController: c, rt: rt, log: log, started: time.Now(), held: map[string]time.Time{}}
	defer func() { l.abandon() }()

	timer := time.NewTimer(0)
	defer timer.Stop()

	for {
		select {
		case <-ctx.Done():
			return nil
		case <-rt.Events():
			changed, err := l.configure(ctx)
			if err != nil {
				return err
			}

			if changed {
				l.abandon()
				timer.Reset(0)
			}
		case <-timer.C:
			if err := l.begin(ctx, timer); err != nil {
				return err
			}
		case r := <-l.result:
			l.abandon()

			pause, err := l.judge(ctx, r)
			if err != nil {
				return err
			}

			rt.ResetRestartBackoff()
			timer.Reset(pause)
		}
	}
}

type loop struct {
	*SyncController

	rt      controller.Runtime
	log     *slog.Logger
	started time.Time

	servers     []string
	disabled    bool
	bootTimeout time.Duration
	first       int                  // index of the first server to ask
	held        map[string]time.Time // servers that are not asked until then
	wrong       string               // the servers that were told to be wrong
	discipline  discipline
	status      timeres.StatusSpec
	failures    int // in a row

	result chan round // of the questions that are being asked, nil for none
	cancel context.CancelFunc
}

// configure reads the inputs and tells whether they say something else than before.
func (l *loop) configure(ctx context.Context) (bool, error) {
	servers, err := typed.Find[network.TimeServerStatusSpec](ctx, l.rt, "", network.TimeServerID)
	if err != nil {
		return false, err
	}

	cfg, err := typed.Find[config.MachineConfigSpec](ctx, l.rt, "", config.ActiveID)
	if err != nil {
		return false, err
	}

	before := fmt.Sprint(l.servers, l.disabled, l.bootTimeout)
	l.servers, l.disabled, l.bootTimeout = nil, false, 0

	if servers != nil {
		l.servers = servers.TypedSpec().NTPServers
	}

	if cfg != nil {
		says := cfg.TypedSpec().View()
		l.disabled, l.bootTimeout = says.TimeSyncDisabled(), says.TimeBootTimeout()
	}

	changed := before != fmt.Sprint(l.servers, l.disabled, l.bootTimeout)
	if changed {
		l.first, l.failures, l.held = 0, 0, map[string]time.Time{}
	}

	return changed, nil
}

// begin asks, unless nobody shall.
func (l *loop) begin(ctx context.Context, timer *time.Timer) error {
	l.abandon()

	l.status.SyncDisabled = l.disabled
	if l.disabled {
		l.status.Synced = false

		timer.Reset(maxPoll)

		return l.publish(ctx)
	}

	ctx, l.cancel = context.WithCancel(ctx)
	l.result = make(chan round, 1)

	result, servers := l.result, l.toAsk(time.Now())

	guard.Detach(l.log, "time servers", func() {
		var r round
		if err := guard.Call(func() error { r = l.ask(ctx, servers); return nil }); err != nil {
			r = round{err: err}
		}

		result <- r
	})

	return nil
}

// abandon forgets the questions that are being asked.
func (l *loop) abandon() {
	if l.cancel != nil {
		l.cancel()
	}

	l.result, l.cancel = nil, nil
}

// judge acts on what the servers said, and returns the pause until they are asked again.
func (l *loop) judge(ctx context.Context, r round) (time.Duration, error) {
	for server, kiss := range r.kisses {
		l.held[server] = time.Now().Add(kiss.pause())
		l.log.WarnContext(ctx, "a time server asks to be left alone", "server", server, "code", kiss.Code, "for", kiss.pause())
	}

	if r.err != nil {
		return l.unknown(ctx, r.err)
	}

	if wrong := strings.Join(r.wrong, ", "); wrong != l.wrong {
		l.wrong = wrong

		if wrong != "" {
			l.log.WarnContext(ctx, "time servers that contradict the others are not believed", "servers", wrong, "believed", strings.Join(r.agree, ", "))
		}
	}

	l.failures = 0
	act := l.discipline.sample(r.best.Offset, r.best.RoundTrip, len(r.agree))

	switch {
	case act.spike:
	case act.refused:
		if l.discipline.spikes == 1 {
			l.log.WarnContext(ctx, "a single time server is not believed that the clock is off by so much: name several, or restart the machine",
				"offset", r.best.Offset, "server", r.best.server)
		}

		return act.poll, l.publish(ctx)
	case act.step:
		l.log.InfoContext(ctx, "setting the clock", "offset", r.best.Offset, "server", r.best.server)

		if err := l.Clock.Step(r.best.Offset); err != nil {
			return 0, err
		}
	default:
		if err := l.Clock.Slew(r.best.Offset, constant(act.poll), leapToday(time.Now(), r.leap)); err != nil {
			return 0, err
		}
	}

	if act.epoch {
		l.status.Epoch++
	}

	l.status.Synced = true

	return act.poll, l.publish(ctx)
}

// unknown goes on without the time.
func (l *loop) unknown(ctx context.Context, cause error) (time.Duration, error) {
	if l.bootTimeout > 0 && !l.status.Synced && time.Since(l.started) > l.bootTimeout {
		l.status.Synced = true

		l.log.WarnContext(ctx, "no time server answered within machine.time.bootTimeout, going on with the clock as it is", "timeout", l.bootTimeout)
	}

	if l.failures++; l.failures == patience {
		l.log.WarnContext(ctx, "the time is not known", "error", cause)
	}

	if len(l.servers) > 0 {
		l.first = (l.first + maxAsked) % len(l.servers)
	}

	if l.failures < patience {
		return firstRetry, l.publish(ctx)
	}

	return retry, l.publish(ctx)
}

// leapToday is the leap second of this day: the kernel inserts or deletes it at midnight, and servers may announce one for a
// month before. The days are those on which there ever was one.
func leapToday(now time.Time, announced clock.Leap) clock.Leap {
	_, month, day := now.UTC().Date()

	if month == time.June && day == 30 || month == time.December && day == 31 {
		return announced
	}

	return clock.LeapNone
}

func (l *loop) publish(ctx context.Context) error {
	return errors.Join(
		typed.Set(ctx, l.rt, "", timeres.StatusID, l.status),
		typed.Set(ctx, l.rt, "", timeres.StatusID, timeres.NTPStatusSpec{
			SpikeDetected: l.discipline.spikes > 0, ConsecutiveSpikes: l.discipline.spikes,
		}),
	)
}
