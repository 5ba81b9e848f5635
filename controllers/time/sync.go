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

// Clock has the side effects of the controller; tests have their own.
type Clock struct {
	// Query queries a server.
	Query func(ctx context.Context, server string) (Sample, error)
	Step  func(offset time.Duration) error
	Slew  func(offset time.Duration, constant int, leap clock.Leap) error
	// Earliest is a time in the past; earlier times of a server are refused.
	Earliest time.Time
}

// System is the real clock, with NTP.
var System = Clock{Query: queryAny, Step: setBoth, Slew: clock.Slew, Earliest: built()}

// setBoth sets the kernel's clock and the hardware clock, if there is one.
func setBoth(offset time.Duration) error {
	if err := clock.Step(offset); err != nil {
		return err
	}

	_ = clock.SetHardware()

	return nil
}

// built returns when this version was built, or the zero time.
func built() time.Time {
	t, _ := time.Parse(time.RFC3339, version.Built) // the zero time if not

	return t
}

// SyncController synchronizes the clock with time servers. The status is synced after the first answer. Its epoch counts the jumps of the
// clock, after which controllers that depend on the time (certificates, leases) check again.
//
// All servers are queried at once, and the majority counts (agree). Once the clock was set, a step of more than 1000 seconds needs two
// servers that agree. Times before this version was built are refused. Answers are not authenticated: an attacker who can change all
// of them can still set any time at the first query.
//
// With machine.time.disabled, or if no server answers before bootTimeout is over, the status says so and the machine continues with its
// clock.
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

// Run implements controller.Controller. Queries run beside the loop, so that new servers, for example from DHCP, do not wait for the
// timeouts of the earlier ones.
func (c *SyncController) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	var (
		state   = syncState{phase: waiting, started: time.Now(), earliest: c.Clock.Earliest}
		timer   = time.NewTimer(0)
		abandon = func() {}
		answers chan answered // of the last query
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

// ask queries servers, all at once.
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
