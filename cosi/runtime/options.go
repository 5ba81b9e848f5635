// SPDX-License-Identifier: Apache-2.0

package runtime

import "time"

// Option changes how a runtime runs.
type Option func(*Runtime)

// WithName tells runtimes apart that show failures (ShowFailures) in one store. Without it the name is "runtime".
func WithName(name string) Option { return func(rt *Runtime) { rt.owner = name } }

// RateLimit bounds how often a controller runs, and how often a queue controller works on one resource: Burst times as
// fast as it can, then PerSecond times. Changes that come faster are not lost: a later round sees them. So the limit
// costs nobody anything but controllers in a circle, which change each other's inputs for ever. One that exceeds it
// for more than a second has a status that says so (ShowFailures).
type RateLimit struct{ Burst, PerSecond int }

// DefaultRateLimit is that of a runtime without WithRateLimit.
var DefaultRateLimit = RateLimit{Burst: 1000, PerSecond: 100}

// Unlimited is no limit.
var Unlimited RateLimit

// WithRateLimit sets the limit for all controllers.
func WithRateLimit(limit RateLimit) Option { return func(rt *Runtime) { rt.limit = limit } }

// WithStartRetry has Run try again, with growing delay, when a watch can not be started because the state does not
// answer: its server may start later than this program. An error of the state itself, such as AccessDenied, still ends
// Run.
func WithStartRetry() Option { return func(rt *Runtime) { rt.startRetry = true } }

// WithObserver has an observer see each round of the controllers. Several are nested, the first one outermost.
func WithObserver(o Observer) Option {
	return func(rt *Runtime) { rt.observers = append(rt.observers, o) }
}

// mostRefills is how often in a second what was used of a limit is given back, at most.
const mostRefills = 4

// none reports whether there is no limit.
func (l RateLimit) none() bool { return l.Burst <= 0 || l.PerSecond <= 0 }

// refills is how often in a second, at least once, what was used is given back.
func (l RateLimit) refills() int { return min(mostRefills, l.PerSecond) }

func (l RateLimit) refillEvery() time.Duration { return time.Second / time.Duration(l.refills()) }

// perRefill is how many rounds are given back at a time.
func (l RateLimit) perRefill() int { return l.PerSecond / l.refills() }

// burst is the limit at once, which is no less than what is given back at a time.
func (l RateLimit) burst() int { return max(l.Burst, l.perRefill()) }
