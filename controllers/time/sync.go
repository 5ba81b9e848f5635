// SPDX-License-Identifier: Apache-2.0

//go:build linux

package time

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/beevik/ntp"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/timeres"
	"github.com/seed-59268b81/talos/sys/clock"
)

// Clock is what the controller does to the world; tests have their own.
type Clock struct {
	// Query asks a server for the offset of our clock and the round trip.
	Query func(ctx context.Context, server string) (offset, roundTrip time.Duration, err error)
	Step  func(offset time.Duration) error
	Slew  func(offset time.Duration, constant int) error
}

// System is the real clock, asked over NTP.
var System = Clock{Query: queryNTP, Step: clock.Step, Slew: clock.Slew}

// queryTimeout of one question.
const queryTimeout = 3 * time.Second

func queryNTP(ctx context.Context, server string) (offset, roundTrip time.Duration, err error) {
	timeout := queryTimeout
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline))
	}

	resp, err := ntp.QueryWithOptions(server, ntp.QueryOptions{Timeout: timeout})
	if err != nil {
		return 0, 0, fmt.Errorf("ask %s for the time: %w", server, err)
	}

	if err := resp.Validate(); err != nil {
		return 0, 0, fmt.Errorf("ask %s for the time: %w", server, err)
	}

	return resp.ClockOffset, resp.RTT, nil
}

// SyncController keeps the clock in step with the time servers. The status says synced from the first answer on; its
// epoch counts the jumps of the clock, after which whoever relies on time (certificates, leases) looks again.
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
	l := &loop{SyncController: c, rt: rt, log: log, started: time.Now()}
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
		case a := <-l.answer:
			l.abandon()

			pause, err := l.judge(ctx, a)
			if err != nil {
				return err
			}

			rt.ResetRestartBackoff()
			timer.Reset(pause)
		}
	}
}

// answer to a question.
type answer struct {
	server            int // index
	offset, roundTrip time.Duration
	err               error
}

type loop struct {
	*SyncController

	rt      controller.Runtime
	log     *slog.Logger
	started time.Time

	servers     []string
	disabled    bool
	bootTimeout time.Duration
	preferred   int // index of the server that answered last
	discipline  discipline
	status      timeres.StatusSpec
	failures    int // in a row

	answer chan answer // of the question that is being asked, nil for none
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
		if machine := cfg.TypedSpec().Config().Machine(); machine != nil {
			l.disabled = machine.Time.Disabled != nil && *machine.Time.Disabled
			l.bootTimeout = machine.Time.BootTimeout
		}
	}

	changed := before != fmt.Sprint(l.servers, l.disabled, l.bootTimeout)
	if changed {
		l.preferred, l.failures = 0, 0
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
	l.answer = make(chan answer, 1)

	go func(answers chan<- answer, servers []string, preferred int) {
		answers <- l.ask(ctx, servers, preferred)
	}(l.answer, l.servers, l.preferred)

	return nil
}

// abandon forgets the question that is being asked.
func (l *loop) abandon() {
	if l.cancel != nil {
		l.cancel()
	}

	l.answer, l.cancel = nil, nil
}

// judge acts on an answer, and returns the pause until the next question.
func (l *loop) judge(ctx context.Context, a answer) (time.Duration, error) {
	if a.err != nil {
		if l.bootTimeout > 0 && !l.status.Synced && time.Since(l.started) > l.bootTimeout {
			l.status.Synced = true

			l.log.WarnContext(ctx, "no time server answered within machine.time.bootTimeout, going on with the clock as it is", "timeout", l.bootTimeout)
		}

		if l.failures++; l.failures == patience {
			l.log.WarnContext(ctx, "the time is not known", "error", a.err)
		}

		if l.failures < patience {
			return firstRetry, l.publish(ctx)
		}

		return retry, l.publish(ctx)
	}

	l.failures, l.preferred = 0, a.server
	act := l.discipline.sample(a.offset, a.roundTrip)

	switch {
	case act.spike:
	case act.step:
		l.log.InfoContext(ctx, "setting the clock", "offset", a.offset, "server", l.servers[a.server])

		if err := l.Clock.Step(a.offset); err != nil {
			return 0, err
		}
	default:
		if err := l.Clock.Slew(a.offset, constant(act.poll)); err != nil {
			return 0, err
		}
	}

	if act.epoch {
		l.status.Epoch++
	}

	l.status.Synced = true

	return act.poll, l.publish(ctx)
}

// ask tries the servers, from the one that answered last.
func (l *loop) ask(ctx context.Context, servers []string, preferred int) answer {
	if len(servers) == 0 {
		return answer{err: errors.New("there is no time server (talosctl get timeservers)")}
	}

	var errs []error

	for i := range servers {
		a := answer{server: (preferred + i) % len(servers)}

		if a.offset, a.roundTrip, a.err = l.Clock.Query(ctx, servers[a.server]); a.err == nil || ctx.Err() != nil {
			return a
		}

		errs = append(errs, a.err)
	}

	return answer{err: errors.Join(errs...)}
}

func (l *loop) publish(ctx context.Context) error {
	return errors.Join(
		typed.Set(ctx, l.rt, "", timeres.StatusID, l.status),
		typed.Set(ctx, l.rt, "", timeres.StatusID, timeres.NTPStatusSpec{
			SpikeDetected: l.discipline.spikes > 0, ConsecutiveSpikes: l.discipline.spikes,
		}),
	)
}
