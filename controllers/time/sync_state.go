// SPDX-License-Identifier: Apache-2.0

//go:build linux

package time

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	timeres "github.com/seed-59268b81/talos/resources/time"
	"github.com/seed-59268b81/talos/sys/clock"
)

// syncState is the state machine of SyncController. It has no clock, network or goroutine: an event and the time go in, the next state and
// the actions come out. testdata/sync has scripts of both.
//
//	            due, configured
//	waiting ────────────────────────────▶ asking ◀─┐ configured: other servers are asked
//	  │  ▲  most agree, or all have answered │ │ └──┘
//	  │  └───────────────────────────────────┘ │
//	  │ configured: disabled                   │ configured: disabled
//	  └──────────────▶ disabled ◀──────────────┘
//	                       └── configured: enabled ──▶ asking
type syncState struct {
	phase syncPhase
	settings
	// started is when the boot timeout began; times before earliest are refused.
	started, earliest time.Time

	first      int                  // index of the first server to query
	held       map[string]time.Time // until when servers must not be queried
	wrong      string               // the servers that were reported as wrong
	discipline discipline
	status     timeres.StatusSpec
	failures   int // in a row

	// While asking: the number of queried servers, and their answers and errors.
	asked   int
	answers []answer
	errs    []error
}

// syncPhase is what the state machine waits for.
type syncPhase string

const (
	waiting  syncPhase = "waiting"  // for the next query
	asking   syncPhase = "asking"   // for answers
	disabled syncPhase = "disabled" // for another configuration
)

// settings are those of the configuration.
type settings struct {
	servers     []string
	disabled    bool
	bootTimeout time.Duration
}

// The events.
type (
	// configured has the settings, which may be unchanged.
	configured struct{ settings }
	// due is the end of a pause.
	due struct{}
	// answered is the answer of one server to the last query, or its error.
	answered struct {
		answer
		err error
	}
)

// The actions.
type (
	// ask queries servers, all at once, and abandons earlier queries.
	ask struct{ servers []string }
	// pause abandons all queries until it is due.
	pause struct{ time.Duration }
	// set steps the clock; adjust makes the kernel slew it.
	set    struct{ time.Duration }
	adjust struct {
		offset   time.Duration
		constant int
		leap     clock.Leap
	}
	// publish writes the status.
	publish struct {
		timeres.StatusSpec
		timeres.NTPStatusSpec
	}
	// report is a line of the log.
	report struct {
		level slog.Level
		text  string
		args  []any
	}
)

func warn(text string, args ...any) report { return report{slog.LevelWarn, text, args} }

// maxAsked is the number of servers that are queried at once.
const maxAsked = 8

// next returns the next state after an event, and the actions to execute in order.
func (s syncState) next(event any, now time.Time) (syncState, []any) {
	var actions []any

	switch e := event.(type) {
	case configured:
		if !slices.Equal(e.servers, s.servers) || e.disabled != s.disabled || e.bootTimeout != s.bootTimeout {
			s.settings, s.first, s.failures, s.held = e.settings, 0, 0, map[string]time.Time{}
			actions = s.begin(now)
		}
	case due:
		actions = s.begin(now)
	case answered:
		if s.phase == asking {
			actions = s.take(e, now)
		}
	}

	return s, actions
}

// begin queries servers, unless that is disabled.
func (s *syncState) begin(now time.Time) []any {
	s.status.SyncDisabled = s.disabled

	if s.disabled {
		s.phase, s.status.Synced = disabled, false

		return s.rest(maxPoll)
	}

	servers := s.toAsk(now)
	s.phase, s.asked, s.answers, s.errs = asking, len(servers), nil, nil

	if len(servers) == 0 {
		return s.unknown(errors.New("there is no time server (talosctl get timeservers), or all refuse queries"), now)
	}

	return []any{ask{servers}}
}

// toAsk returns the servers to query now: all that do not refuse queries, up to maxAsked. After a failure it starts with other servers.
func (s *syncState) toAsk(now time.Time) []string {
	var servers []string

	for i := range s.servers {
		server := s.servers[(s.first+i)%len(s.servers)]
		if !now.Before(s.held[server]) && len(servers) < maxAsked {
			servers = append(servers, server)
		}
	}

	return servers
}

// take handles an answer. The query is complete when more than half of the servers agree, or all have answered.
func (s *syncState) take(a answered, now time.Time) (actions []any) {
	if kiss := (*KissError)(nil); errors.As(a.err, &kiss) {
		s.held = maps.Clone(s.held)
		s.held[a.server] = now.Add(kiss.pause())
		actions = append(actions, warn("a time server refuses queries", "server", a.server, "code", kiss.Code, "for", kiss.pause()))
	}

	if said := now.Add(a.Offset); a.err == nil && said.Before(s.earliest) {
		a.err = fmt.Errorf("%s says that it is %s, but this version was built later", a.server, said.UTC().Format(time.RFC3339))
	}

	if a.err != nil {
		s.errs = append(slices.Clip(s.errs), a.err)
	} else {
		s.answers = append(slices.Clip(s.answers), a.answer)
	}

	v, err := agree(s.answers)

	switch complete := len(s.answers)+len(s.errs) == s.asked; {
	case !complete && 2*len(v.agree) <= s.asked:
		return actions
	case len(s.answers) == 0:
		err = errors.Join(s.errs...)
	}

	if err != nil {
		return append(actions, s.unknown(err, now)...)
	}

	return append(actions, s.judge(v, now)...)
}

// judge acts on the answer of the majority.
func (s *syncState) judge(v verdict, now time.Time) (actions []any) {
	if wrong := strings.Join(v.wrong, ", "); wrong != s.wrong {
		s.wrong = wrong

		if wrong != "" {
			actions = append(actions, warn("time servers that contradict the others are ignored", "servers", wrong, "used", strings.Join(v.agree, ", ")))
		}
	}

	s.failures = 0
	c := s.discipline.sample(v.best.Offset, v.best.RoundTrip, len(v.agree))

	switch where := []any{"offset", v.best.Offset, "server", v.best.server}; {
	case c.spike:
	case c.refused:
		if s.discipline.spikes == 1 {
			actions = append(actions, warn("the offset is too large to trust a single time server: configure several, or restart the machine", where...))
		}

		return append(actions, s.rest(c.poll)...)
	case c.step:
		actions = append(actions, report{slog.LevelInfo, "setting the clock", where}, set{v.best.Offset})
	default:
		actions = append(actions, adjust{v.best.Offset, constant(c.poll), leapToday(now, v.leap)})
	}

	if c.epoch {
		s.status.Epoch++
	}

	s.status.Synced = true

	return append(actions, s.rest(c.poll)...)
}

// unknown continues without the time.
func (s *syncState) unknown(cause error, now time.Time) (actions []any) {
	if s.bootTimeout > 0 && !s.status.Synced && now.Sub(s.started) > s.bootTimeout {
		s.status.Synced = true
		actions = append(actions, warn("no time server answered within machine.time.bootTimeout: continuing with the clock as it is", "timeout", s.bootTimeout))
	}

	if s.failures++; s.failures == patience {
		actions = append(actions, warn("the time is not known", "error", cause))
	}

	if len(s.servers) > 0 {
		s.first = (s.first + maxAsked) % len(s.servers)
	}

	if s.failures < patience {
		return append(actions, s.rest(firstRetry)...)
	}

	return append(actions, s.rest(retry)...)
}

// rest publishes the status and pauses.
func (s *syncState) rest(d time.Duration) []any {
	if s.phase == asking {
		s.phase = waiting
	}

	return []any{
		publish{s.status, timeres.NTPStatusSpec{SpikeDetected: s.discipline.spikes > 0, ConsecutiveSpikes: s.discipline.spikes}}, pause{d},
	}
}

// leapToday returns the leap second of this day. The kernel inserts or deletes it at midnight, but servers may announce it a month
// before. Leap seconds have only ever been on these two days.
func leapToday(now time.Time, announced clock.Leap) clock.Leap {
	_, month, day := now.UTC().Date()

	if month == time.June && day == 30 || month == time.December && day == 31 {
		return announced
	}

	return clock.LeapNone
}
