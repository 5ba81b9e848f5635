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

// syncState is the state machine of SyncController. It has no clock, no network and no goroutine: an event and the time go
// in, the next state and the actions come out. testdata/sync holds scripts of both.
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
	// started is when the boot timeout began; no server is believed that says a time before earliest.
	started, earliest time.Time

	first      int                  // index of the first server to ask
	held       map[string]time.Time // servers that are not asked until then
	wrong      string               // the servers that were reported as wrong
	discipline discipline
	status     timeres.StatusSpec
	failures   int // in a row

	// What is known while asking: how many were asked, who answered what.
	asked   int
	answers []answer
	errs    []error
}

// syncPhase is what the state machine waits for.
type syncPhase string

const (
	waiting  syncPhase = "waiting"  // for the time to ask
	asking   syncPhase = "asking"   // for answers
	disabled syncPhase = "disabled" // for another configuration
)

// settings are what is configured.
type settings struct {
	servers     []string
	disabled    bool
	bootTimeout time.Duration
}

// The events.
type (
	// configured brings the settings, which may be those before.
	configured struct{ settings }
	// due is the end of a pause.
	due struct{}
	// answered is the answer of one server that was asked last, or why there is none.
	answered struct {
		answer
		err error
	}
)

// The actions.
type (
	// ask asks servers, all at once, and not those before any more.
	ask struct{ servers []string }
	// pause asks nobody any more, until it is due.
	pause struct{ time.Duration }
	// set moves the clock at once; adjust has the kernel slew it.
	set    struct{ time.Duration }
	adjust struct {
		offset   time.Duration
		constant int
		leap     clock.Leap
	}
	// publish shows the status.
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

// maxAsked is the number of servers that are asked at once.
const maxAsked = 8

// next is what an event leads to: the actions are to be carried out in their order.
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

// begin asks, unless nobody shall.
func (s *syncState) begin(now time.Time) []any {
	s.status.SyncDisabled = s.disabled

	if s.disabled {
		s.phase, s.status.Synced = disabled, false

		return s.rest(maxPoll)
	}

	servers := s.toAsk(now)
	s.phase, s.asked, s.answers, s.errs = asking, len(servers), nil, nil

	if len(servers) == 0 {
		return s.unknown(errors.New("there is no time server (talosctl get timeservers), or all want to be left alone"), now)
	}

	return []any{ask{servers}}
}

// toAsk are the servers that are asked now: all that do not want to be left alone, or as many of them as are allowed, from
// others on each time that none was right.
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

// take takes an answer. It is enough when more than half of the servers that were asked agree, or all have answered.
func (s *syncState) take(a answered, now time.Time) (actions []any) {
	if kiss := (*KissError)(nil); errors.As(a.err, &kiss) {
		s.held = maps.Clone(s.held)
		s.held[a.server] = now.Add(kiss.pause())
		actions = append(actions, warn("a time server asks to be left alone", "server", a.server, "code", kiss.Code, "for", kiss.pause()))
	}

	if said := now.Add(a.Offset); a.err == nil && said.Before(s.earliest) {
		a.err = fmt.Errorf("%s says that it is %s, but this version was made later", a.server, said.UTC().Format(time.RFC3339))
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

// judge acts on what most servers say.
func (s *syncState) judge(v verdict, now time.Time) (actions []any) {
	if wrong := strings.Join(v.wrong, ", "); wrong != s.wrong {
		s.wrong = wrong

		if wrong != "" {
			actions = append(actions, warn("time servers that contradict the others are not believed", "servers", wrong, "believed", strings.Join(v.agree, ", ")))
		}
	}

	s.failures = 0
	c := s.discipline.sample(v.best.Offset, v.best.RoundTrip, len(v.agree))

	switch where := []any{"offset", v.best.Offset, "server", v.best.server}; {
	case c.spike:
	case c.refused:
		if s.discipline.spikes == 1 {
			actions = append(actions, warn("a single time server is not believed that the clock is off by so much: name several, or restart the machine", where...))
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

// unknown goes on without the time.
func (s *syncState) unknown(cause error, now time.Time) (actions []any) {
	if s.bootTimeout > 0 && !s.status.Synced && now.Sub(s.started) > s.bootTimeout {
		s.status.Synced = true
		actions = append(actions, warn("no time server answered within machine.time.bootTimeout, going on with the clock as it is", "timeout", s.bootTimeout))
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

// rest shows how it stands, and does nothing for a while.
func (s *syncState) rest(d time.Duration) []any {
	if s.phase == asking {
		s.phase = waiting
	}

	return []any{
		publish{s.status, timeres.NTPStatusSpec{SpikeDetected: s.discipline.spikes > 0, ConsecutiveSpikes: s.discipline.spikes}}, pause{d},
	}
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
