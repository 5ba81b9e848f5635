// SPDX-License-Identifier: Apache-2.0

// Package dhcp keeps a lease of DHCPv4 (RFC 2131) or DHCPv6 (RFC 8415): it acquires, renews and rebinds the lease, checks it after the
// link was down, and acquires another when it ends. Packages dhcp4 and dhcp6 have the packets.
//
// A lease is kept until another replaces it, even after its end or when a server refuses it. The RFCs require a client to drop it, but
// a cluster must not lose its nodes' names and addresses because one server is silent. The status of such a lease says that it is
// not confirmed, and why.
//
// The state machine is a function of values (next): an event and the time go in, the next state and the actions come out.
// testdata has scripts of both. Run is the thin shell that asks, sleeps and publishes.
//
//	            lease                T1                    T2                      end
//	acquiring ─────────▶ bound ──────────▶ bound, Renew ──────────▶ bound, Rebind ──────▶ acquiring: the old lease is kept
//	 ▲    │ silence        │ ▲ lease          │ refused                 │ refused
//	 └────┘                └─┘                └──────────▶ acquiring ◀──┘
//
// A check is asked at once, and repeated until a server answers.
package dhcp

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// The errors when a server denies that the lease is valid.
var (
	ErrRefused = errors.New("the DHCP server refused")
	ErrUnknown = errors.New("the DHCPv6 server does not know the lease")
)

// Times of a lease, counted from when it was granted. An infinite lease has zeros.
type Times struct{ Renew, Rebind, Expire time.Duration }

// Question is one exchange with a server.
type Question string

// The questions.
const (
	// Acquire gets a new lease, Inform only settings other than addresses.
	Acquire Question = "acquire"
	Inform  Question = "inform"
	// Renew asks the server that granted the lease, Rebind any server.
	Renew  Question = "renew"
	Rebind Question = "rebind"
	// Verify asks whether the lease is still valid on this network (state INIT-REBOOT).
	Verify Question = "verify"
)

// Protocol is the difference between the protocols.
type Protocol struct {
	// Name is the name in log lines, Silence the cause when no server answers, Refused the error when the lease is lost.
	Name, Silence string
	Refused       error
	// Get is the question for a new lease, Check the one that checks it before T1; later it is rebound.
	Get, Check Question
	// Stateless leases are never renewed: an old one is acquired again.
	Stateless bool
	// Timeout is that of a question about the lease; Last is the longest timeout and the longest pause.
	Timeout, Last time.Duration
	// Grow makes the timeouts of a check grow; otherwise the pauses between checks grow.
	Grow bool
	// Spread randomizes times, so that machines that started together do not ask together.
	Spread func(time.Duration) time.Duration
}

// V4 returns DHCPv4. RFC 2131, 4.1 doubles timeouts from 4 s to 64 s; a machine that boots asks sooner.
func V4() Protocol {
	return Protocol{
		Name: "DHCP", Silence: "no lease from any server", Refused: ErrRefused, Get: Acquire, Check: Verify,
		Timeout: 4 * time.Second, Last: 64 * time.Second, Grow: true, Spread: jitter(8),
	}
}

// V6 returns DHCPv6 (RFC 8415, 7.6). The last timeout is shorter than the RFC's hour, because a node waits for its address.
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
	// leastRetry is the shortest pause before a renewal is retried; the RFCs' 60 s are too long for short leases.
	leastRetry = 5 * time.Second
	// silentAfter is how long no server answers before that is published.
	silentAfter = 10 * time.Second
)

// state of a client. The zero value with a protocol has no lease.
type state struct {
	Protocol
	phase phase

	began   time.Time     // of acquiring
	timeout time.Duration // of the question for a lease
	told    bool          // it was published that there is no lease, or that it is not confirmed
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

// check is a pending check of the lease: its timeout, or the pause before it is repeated, and when that ends. The zero value means that
// there is none.
type check struct {
	wait time.Duration
	at   time.Time
}

// The events.
type (
	// due is the end of a wait, and the start.
	due struct{}
	// checked requests a check of the lease at once.
	checked struct{}
	// answered is the answer to the last question, or its error.
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
	// wait until a time, or forever if it is zero; a check ends it.
	wait struct{ until time.Time }
	// publish the current lease, if any, with its trouble.
	publish struct{ trouble error }
	report  struct {
		level slog.Level
		text  string
		args  []any
	}
)

// next returns the next state after an event, and the actions to execute in order.
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
		case s.phase == acquiring: // the link is up again: ask soon
			s.timeout = firstTimeout
			actions = s.get(now)
		default:
			actions = s.acquire(now)
		}
	}

	return s, actions
}

// acquire starts to acquire a lease.
func (s *state) acquire(now time.Time) []any {
	s.phase, s.began, s.timeout = acquiring, now, firstTimeout

	return s.get(now)
}

func (s *state) get(now time.Time) []any {
	s.asked = now

	return []any{ask{s.Get, s.timeout}}
}

// silence handles that no server answered the question for a lease.
func (s *state) silence(err error, now time.Time) []any {
	actions := []any{report{slog.LevelDebug, "no " + s.Name + " lease yet", []any{"error", err, "timeout", s.timeout}}}

	if !s.told && now.Sub(s.began) >= silentAfter {
		s.told = true
		actions = append(actions, publish{fmt.Errorf("%s since %s: %w", s.Silence, date(s.began), err)})
	}

	// An error may occur at once (the link went down): the pause is the same.
	return append(actions, wait{s.asked.Add(s.Spread(s.timeout))})
}

// bind accepts a lease.
func (s *state) bind(times Times, now time.Time) (actions []any) {
	if s.phase == acquiring {
		actions = append(actions, report{slog.LevelInfo, s.Name + " lease", []any{"for", times.Expire}})
	}

	s.phase, s.times, s.granted, s.asked, s.told, s.check = bound, times, now, now, false, check{}

	return append(actions, publish{nil}, wait{s.due(now)})
}

// due returns when to ask about the lease: at T1, then at halves of the time left to T2 and to the end, or when a pending check is
// repeated.
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

// next returns the age at which to ask about a lease.
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

// question asks about the lease; its age decides which servers are asked. A check goes to all servers, because the link may now be on
// another network.
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
		return s.fail(errors.New("no server renewed it"), now)
	case s.check.wait > 0 && s.Grow:
		question, until := s.Check, s.times.Renew
		if old {
			question, until = Rebind, s.times.Expire
		}

		timeout = within(s.Spread(s.check.wait), until-age)
		s.check.at = now.Add(timeout) // an error may occur at once: the pause is the same

		return []any{ask{question, timeout}}
	case s.check.wait > 0:
		return []any{ask{s.Check, timeout}}
	case age < s.times.Rebind:
		return []any{ask{Renew, timeout}}
	default:
		return []any{ask{Rebind, timeout}}
	}
}

// fail handles that the lease was not confirmed: it is kept, and either asked about again or replaced.
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
