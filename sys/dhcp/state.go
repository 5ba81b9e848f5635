// SPDX-License-Identifier: Apache-2.0

// Package dhcp keeps a lease of DHCPv4 (RFC 2131) or DHCPv6 (RFC 8415): it gets one, renews and rebinds it, checks it when the
// link was down, and asks for another when it ends. Packages dhcp4 and dhcp6 have the packets.
//
// A lease is kept until another takes its place, also past its end and against a server's refusal. The RFCs have a
// client drop it; a cluster that loses its nodes' names and addresses because one server is silent has nothing of that.
// Such a lease is told to be unconfirmed, and why.
//
// The state machine is a function of values (next): an event and the time go in, the next state and the actions come out.
// testdata has scripts of both. Run is the thin shell that asks, sleeps and publishes.
//
//	            lease                T1                    T2                      end
//	acquiring ─────────▶ bound ──────────▶ bound, Renew ──────────▶ bound, Rebind ──────▶ acquiring: the old lease is kept
//	 ▲    │ silence        │ ▲ lease          │ refused                 │ refused
//	 └────┘                └─┘                └──────────▶ acquiring ◀──┘
//
// A check is asked at once, and again until somebody answers.
package dhcp

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// The errors of a server that says that the lease is not, or no longer, ours.
var (
	ErrRefused = errors.New("the DHCP server refused")
	ErrUnknown = errors.New("the DHCPv6 server knows nothing of the lease")
)

// Times of a lease, counted from when it was granted. An infinite lease has zeros.
type Times struct{ Renew, Rebind, Expire time.Duration }

// Question is one conversation with a server.
type Question string

// The questions.
const (
	// Acquire gets a new lease, Inform what is not about addresses.
	Acquire Question = "acquire"
	Inform  Question = "inform"
	// Renew asks the server that granted the lease, Rebind any server.
	Renew  Question = "renew"
	Rebind Question = "rebind"
	// Verify asks whether the lease still is ours on this network (state INIT-REBOOT).
	Verify Question = "verify"
)

// Protocol is what differs.
type Protocol struct {
	// Name is that of log lines; Silence is the cause that is told when nobody answers, Refused the error when the lease is lost.
	Name, Silence string
	Refused       error
	// Get is how a lease is asked for, Check how it is checked before T1; later it is rebound.
	Get, Check Question
	// Stateless leases are never renewed: what is old is asked for again.
	Stateless bool
	// Timeout of a question about the lease; Last is the longest one, and the longest pause.
	Timeout, Last time.Duration
	// Grow has the timeouts of a check grow; otherwise it is the pauses between.
	Grow bool
	// Spread keeps machines that started together from asking together.
	Spread func(time.Duration) time.Duration
}

// V4 is DHCPv4: RFC 2131, 4.1 doubles from 4 s to 64 s; a machine that boots asks sooner.
func V4() Protocol {
	return Protocol{
		Name: "DHCP", Silence: "no lease from any server", Refused: ErrRefused, Get: Acquire, Check: Verify,
		Timeout: 4 * time.Second, Last: 64 * time.Second, Grow: true, Spread: jitter(8),
	}
}

// V6 is DHCPv6 (RFC 8415, 7.6). The last timeout is shorter than the RFC's hour: a node waits for its address.
func V6(stateless bool) Protocol {
	p := Protocol{
		Name: "DHCPv6", Silence: "no answer from any DHCPv6 server", Refused: ErrUnknown, Get: Acquire, Check: Rebind, Stateless: stateless,
		Timeout: 10 * time.Second, Last: 2 * time.Minute, Spread: jitter(10),
	}
	if stateless {
		p.Get = Inform
	}

	return p
}

const (
	firstTimeout = time.Second
	// leastRetry is how soon at least a renewal is tried again; the RFCs' 60 s are too long for short leases.
	leastRetry = 5 * time.Second
	// silentAfter is how long nobody answers before that is told.
	silentAfter = 10 * time.Second
)

// state of a client. The zero value with a protocol has no lease.
type state struct {
	Protocol
	phase phase

	began   time.Time     // of acquiring
	timeout time.Duration // of the question for a lease
	told    bool          // that there is no lease, or that it is not confirmed
	asked   time.Time     // the last question

	times   Times
	granted time.Time
	check   check
}

// phase of a client.
type phase string

const (
	acquiring phase = "acquiring"
	bound     phase = "bound"
)

// check is a question that nobody has answered yet: how long it waits for an answer or until it is asked again, and when that
// is. The zero value is none.
type check struct {
	wait time.Duration
	at   time.Time
}

// The events.
type (
	// due is the end of a wait, and the start.
	due struct{}
	// checked is the wish to know at once whether the lease still holds.
	checked struct{}
	// answered is the answer to the last question.
	answered struct {
		Times
		err error
	}
)

// The actions. The last of an event is ask or wait.
type (
	ask struct {
		Question
		timeout time.Duration
	}
	// wait for a time, the zero one for ever, or a check.
	wait struct{ until time.Time }
	// publish the lease that there is, if any, with what is wrong.
	publish struct{ trouble error }
	report  struct {
		level slog.Level
		text  string
		args  []any
	}
)

// next is what an event leads to: the actions are to be carried out in their order.
func (s state) next(event any, now time.Time) (state, []any) {
	var actions []any

	switch e := event.(type) {
	case answered:
		switch {
		case e.err == nil:
			actions = s.bind(e.Times, now)
		case s.phase == bound:
			actions = s.fail(e.err, now)
		default:
			actions = s.silence(e.err, now)
		}
	default:
		_, check := event.(checked)

		switch {
		case s.phase == bound && !s.Stateless:
			actions = s.question(check, now)
		case s.phase == acquiring && !check:
			s.timeout = min(2*s.timeout, s.Last)
			actions = s.get(now)
		case s.phase == acquiring: // the link is back: soon again
			s.timeout = firstTimeout
			actions = s.get(now)
		default:
			actions = s.acquire(now)
		}
	}

	return s, actions
}

// acquire begins to ask for a lease.
func (s *state) acquire(now time.Time) []any {
	s.phase, s.began, s.timeout = acquiring, now, firstTimeout

	return s.get(now)
}

func (s *state) get(now time.Time) []any {
	s.asked = now

	return []any{ask{s.Get, s.timeout}}
}

// silence is no answer to the question for a lease.
func (s *state) silence(err error, now time.Time) []any {
	actions := []any{report{slog.LevelDebug, "no " + s.Name + " lease yet", []any{"error", err, "timeout", s.timeout}}}

	if !s.told && now.Sub(s.began) >= silentAfter {
		s.told = true
		actions = append(actions, publish{fmt.Errorf("%s since %s: %w", s.Silence, date(s.began), err)})
	}

	// An error may come at once (the link just went down): the time is used up all the same.
	return append(actions, wait{s.asked.Add(s.Spread(s.timeout))})
}

// bind takes a lease.
func (s *state) bind(times Times, now time.Time) (actions []any) {
	if s.phase == acquiring {
		actions = append(actions, report{slog.LevelInfo, s.Name + " lease", []any{"for", times.Expire}})
	}

	s.phase, s.times, s.granted, s.asked, s.told, s.check = bound, times, now, now, false, check{}

	return append(actions, publish{nil}, wait{s.due(now)})
}

// due is when the lease is to be asked about: at T1, then at halves of what is left to T2 and to the end; or when a check that
// nobody has answered is sent again.
func (s *state) due(now time.Time) time.Time {
	age := now.Sub(s.granted)

	switch {
	case s.check.wait > 0 && (s.Grow || s.times.Expire == 0):
		return s.check.at
	case s.times.Expire == 0:
		return time.Time{}
	case s.asked.Sub(s.granted) < s.times.Rebind && age >= s.times.Rebind: // T2 has passed while the server was silent
		return now
	}

	at := s.granted.Add(s.times.next(age))
	if s.check.wait > 0 && s.check.at.Before(at) {
		return s.check.at
	}

	return at
}

// next is the age at which a lease is to be asked about.
func (t Times) next(age time.Duration) time.Duration {
	switch {
	case age < t.Renew:
		return t.Renew
	case age < t.Rebind:
		return min(age+max((t.Rebind-age)/2, leastRetry), t.Rebind)
	default:
		return min(age+max((t.Expire-age)/2, leastRetry), t.Expire)
	}
}

// question asks about the lease: whom, by its age. A check goes to all servers, for the link may be on another network now.
func (s *state) question(checked bool, now time.Time) []any {
	age := now.Sub(s.granted)
	s.asked = now

	within := func(timeout, age time.Duration) time.Duration {
		if s.times.Expire == 0 {
			return timeout
		}

		return min(timeout, max(age, firstTimeout))
	}

	switch {
	case checked:
		s.check = check{wait: s.Timeout}
	case s.check.wait > 0:
		s.check.wait = min(2*s.check.wait, s.Last)
	}

	old := s.times.Expire > 0 && age >= s.times.Renew
	timeout := within(s.Timeout, s.times.Expire-age)

	switch {
	case s.times.Expire > 0 && age >= s.times.Expire:
		return s.fail(errors.New("nobody renewed it"), now)
	case s.check.wait > 0 && s.Grow:
		question, until := s.Check, s.times.Renew
		if old {
			question, until = Rebind, s.times.Expire
		}

		timeout = within(s.Spread(s.check.wait), until-age)
		s.check.at = now.Add(timeout) // an error may come at once: the time is used up all the same

		return []any{ask{question, timeout}}
	case s.check.wait > 0:
		return []any{ask{s.Check, timeout}}
	case age < s.times.Rebind:
		return []any{ask{Renew, timeout}}
	default:
		return []any{ask{Rebind, timeout}}
	}
}

// fail is that the lease was not confirmed: it is kept, and asked about again, or another is asked for.
func (s *state) fail(err error, now time.Time) []any {
	age := now.Sub(s.granted)

	lost := func(why string, trouble error, actions ...any) []any {
		s.told = true

		kept := report{slog.LevelWarn, s.Name + " lease " + why + ": it is kept until there is another", []any{"error", err}}

		return append(append(actions, kept, publish{trouble}), s.acquire(now)...)
	}

	if errors.Is(err, s.Refused) {
		return lost("refused", fmt.Errorf("kept, though refused at %s: %w", date(now), err))
	}

	failed := report{slog.LevelWarn, s.Name + " lease not renewed", []any{"error", err, "expires in", s.times.Expire - age}}

	if s.times.Expire > 0 && age >= s.times.Expire {
		return lost("expired", fmt.Errorf("kept, though expired at %s: no server has answered: %w", date(now), err), failed)
	}

	if !s.Grow && s.check.wait > 0 {
		s.check.at = now.Add(s.check.wait)
	}

	return []any{failed, wait{s.due(now)}}
}

func date(t time.Time) string { return t.UTC().Format(time.RFC3339) }
