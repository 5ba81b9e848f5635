// SPDX-License-Identifier: Apache-2.0

package runtime

import "time"

// Option changes how a runtime runs.
type Option func(*Runtime)

// WithName sets the name of a runtime that shares a store with another one, for ShowFailures. The default is "runtime".
func WithName(name string) Option { return func(rt *Runtime) { rt.owner = name } }

// RateLimit limits how often a controller runs, and how often a queue controller reconciles one resource: Burst times as
// fast as possible, then PerSecond times a second. Faster changes are not lost: a later round sees them. So the limit
// affects only controllers in a cycle, which change each other's inputs without end. A controller that exceeds it for
// more than a second has a status that says so (ShowFailures).
type RateLimit struct{ Burst, PerSecond int }

// DefaultRateLimit is that of a runtime without WithRateLimit.
var DefaultRateLimit = RateLimit{Burst: 1000, PerSecond: 100}

// Unlimited turns the limit off.
var Unlimited RateLimit

// WithRateLimit sets the limit for all controllers.
func WithRateLimit(limit RateLimit) Option { return func(rt *Runtime) { rt.limit = limit } }

// WithStartRetry lets Run try again, with growing delay, when a watch cannot be started because the state does not
// answer: its server may start later than this program. An error of the state itself, such as AccessDenied, still ends
// Run.
func WithStartRetry() Option { return func(rt *Runtime) { rt.startRetry = true } }

// WithObserver adds an observer of each round of the controllers. Several are nested, the first one outermost.
func WithObserver(o Observer) Option {
	return func(rt *Runtime) { rt.observers = append(rt.observers, o) }
}

// mostRefills limits the refills per second. A refill gives back a part of the limit.
const mostRefills = 4

// none reports whether there is no limit.
func (l RateLimit) none() bool { return l.Burst <= 0 || l.PerSecond <= 0 }

// refills returns the number of refills per second, at least one.
func (l RateLimit) refills() int { return min(mostRefills, l.PerSecond) }

func (l RateLimit) refillEvery() time.Duration { return time.Second / time.Duration(l.refills()) }

// perRefill returns how many rounds a refill gives back.
func (l RateLimit) perRefill() int { return l.PerSecond / l.refills() }

// burst returns the number of rounds without a pause; it is not smaller than a refill.
func (l RateLimit) burst() int { return max(l.Burst, l.perRefill()) }
