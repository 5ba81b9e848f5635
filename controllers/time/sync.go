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

// Run implements controller.Controller.
func (c *SyncController) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	l := &loop{SyncController: c, rt: rt, log: log, started: time.Now()}

	var next <-chan time.Time

	for {
		select {
		case <-ctx.Done():
			return nil
		case <-rt.Events():
			changed, err := l.configure(ctx)
			if err != nil {
				return err
			}

			if !changed && next != nil {
				continue
			}
		case <-next:
		}

		pause, err := l.round(ctx)
		if err != nil {
			return err
		}

		rt.ResetRestartBackoff()

		next = time.After(pause)
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
	preferred   int // index of the server that answered last
	discipline  discipline
	status      timeres.StatusSpec
	warned      bool
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
		t := cfg.TypedSpec().Config().Machine().Time
		l.disabled = t.Disabled != nil && *t.Disabled
		l.bootTimeout = t.BootTimeout
	}

	return before != fmt.Sprint(l.servers, l.disabled, l.bootTimeout), nil
}

// round asks once, acts, and returns the pause until the next.
func (l *loop) round(ctx context.Context) (time.Duration, error) {
	l.status.SyncDisabled = l.disabled
	if l.disabled {
		l.status.Synced = false

		return maxPoll, l.publish(ctx)
	}

	offset, roundTrip, err := l.ask(ctx)
	if err != nil {
		if l.bootTimeout > 0 && !l.status.Synced && time.Since(l.started) > l.bootTimeout {
			l.status.Synced = true

			l.log.WarnContext(ctx, "no time server answered within machine.time.bootTimeout, going on with the clock as it is", "timeout", l.bootTimeout)
		} else if !l.warned {
			l.warned = true

			l.log.WarnContext(ctx, "the time is not known", "error", err)
		}

		return retry, l.publish(ctx)
	}

	l.warned = false
	act := l.discipline.sample(offset, roundTrip)

	switch {
	case act.spike:
	case act.step:
		l.log.InfoContext(ctx, "setting the clock", "offset", offset, "server", l.servers[l.preferred])

		if err := l.Clock.Step(offset); err != nil {
			return 0, err
		}
	default:
		if err := l.Clock.Slew(offset, constant(act.poll)); err != nil {
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
func (l *loop) ask(ctx context.Context) (offset, roundTrip time.Duration, err error) {
	if len(l.servers) == 0 {
		return 0, 0, errors.New("there is no time server (talosctl get timeservers)")
	}

	var errs []error

	for i := range l.servers {
		index := (l.preferred + i) % len(l.servers)

		offset, roundTrip, err = l.Clock.Query(ctx, l.servers[index])
		if err == nil {
			l.preferred = index

			return offset, roundTrip, nil
		}

		errs = append(errs, err)
	}

	return 0, 0, errors.Join(errs...)
}

func (l *loop) publish(ctx context.Context) error {
	return errors.Join(
		typed.Set(ctx, l.rt, "", timeres.StatusID, l.status),
		typed.Set(ctx, l.rt, "", timeres.StatusID, timeres.NTPStatusSpec{
			SpikeDetected: l.discipline.spikes > 0, ConsecutiveSpikes: l.discipline.spikes,
		}),
	)
}
