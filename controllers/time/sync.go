// SPDX-License-Identifier: Apache-2.0

//go:build linux

package time

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/typed"
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
	t, _ := time.Parse(time.RFC3339, version.Built) // the zero time if not

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
		fromconfig.Input(),
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

// Run implements controller.Controller. Servers are asked beside the loop: better servers, which DHCP may bring any
// moment, do not wait until those before them are found dead.
func (c *SyncController) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	var (
		state   = syncState{phase: waiting, started: time.Now(), earliest: c.Clock.Earliest}
		timer   = time.NewTimer(0)
		abandon = func() {}
		answers chan answered // of the servers that were asked last
	)

	defer timer.Stop()
	defer func() { abandon() }()

	for {
		var event any

		select {
		case <-ctx.Done():
			return nil
		case <-rt.Events():
			s, err := readSettings(ctx, rt)
			if err != nil {
				return err
			}

			event = configured{s}
		case <-timer.C:
			event = due{}
		case event = <-answers:
		}

		var actions []any
		state, actions = state.next(event, time.Now())

		for _, action := range actions {
			var err error

			switch a := action.(type) {
			case ask:
				abandon()
				timer.Stop()

				answers, abandon = c.ask(ctx, a.servers)
			case pause:
				abandon()

				answers, abandon = nil, func() {}

				timer.Reset(a.Duration)
				rt.ResetRestartBackoff()
			case set:
				err = c.Clock.Step(a.Duration)
			case adjust:
				err = c.Clock.Slew(a.offset, a.constant, a.leap)
			case publish:
				err = errors.Join(typed.Set(ctx, rt, "", timeres.StatusID, a.StatusSpec), typed.Set(ctx, rt, "", timeres.StatusID, a.NTPStatusSpec))
			case report:
				log.Log(ctx, a.level, a.text, a.args...)
			}

			if err != nil {
				return err
			}
		}
	}
}

// ask asks servers, all at once.
func (c *SyncController) ask(ctx context.Context, servers []string) (chan answered, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	answers := make(chan answered, len(servers))

	for _, server := range servers {
		guard.Go(func() error {
			a := answered{answer: answer{server: server}}

			a.err = guard.Call(func() (err error) {
				a.Sample, err = c.Clock.Query(ctx, server)

				return err
			})
			answers <- a

			return nil
		})
	}

	return answers, cancel
}

func readSettings(ctx context.Context, rt controller.Runtime) (settings, error) {
	var servers network.TimeServerStatusSpec

	found := typed.Read(ctx, rt, network.TimeServerID, &servers)
	says, err := fromconfig.View(ctx, rt)

	if err := errors.Join(found.Err, err); err != nil {
		return settings{}, err
	}

	return settings{servers: servers.NTPServers, disabled: says.TimeSyncDisabled(), bootTimeout: says.TimeBootTimeout()}, nil
}
