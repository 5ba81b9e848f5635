// SPDX-License-Identifier: Apache-2.0

package router

import (
	"fmt"
	"sync"
	"time"

	"github.com/seed-59268b81/talos/lab/netswitch"
)

// Plug connects a leg to a switch, under a port name. Faults on the switch are set for that name.
type Plug struct {
	Switch *netswitch.Switch
	Port   string
}

// Router is a Core on ports of switches, with this computer's clock.
type Router struct {
	mu     sync.Mutex // guards core, timer, closed, and the order of sent frames
	core   *Core
	timer  *time.Timer
	closed bool

	ports []*netswitch.Port
}

// Start starts a router and connects each of its legs to the plug of the same index.
func Start(cfg Config, plugs []Plug) (*Router, error) {
	core, err := NewCore(cfg)
	if err != nil {
		return nil, err
	}

	if len(plugs) != len(cfg.Legs) {
		return nil, fmt.Errorf("router: %d plugs for %d legs", len(plugs), len(cfg.Legs))
	}

	r := &Router{core: core}

	// No frame is handled before all ports exist.
	r.mu.Lock()
	defer r.mu.Unlock()

	for i, p := range plugs {
		r.ports = append(r.ports, p.Switch.Attach(p.Port, func(frame []byte) {
			r.step(func(now time.Time) []Frame { return core.Receive(i, frame, now) })
		}))
	}

	r.timer = time.AfterFunc(0, func() { r.step(core.Tick) })

	return r, nil
}

// step calls the core, sends the frames that it returns, and sets the timer.
func (r *Router) step(do func(now time.Time) []Frame) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if r.closed {
		return
	}

	now := time.Now()
	before, waited := r.core.Next()

	for _, f := range do(now) {
		r.ports[f.Leg].Send(f.Data)
	}

	// Most frames do not change the timer.
	if next, waits := r.core.Next(); waits && (!waited || next != before || !next.After(now)) {
		r.timer.Reset(next.Sub(now))
	}
}

// Close unplugs the router.
func (r *Router) Close() {
	r.mu.Lock()
	r.closed = true
	r.timer.Stop()
	r.mu.Unlock()

	for _, p := range r.ports {
		p.Close()
	}
}

// Set changes the setting of a leg, see Core.Set.
func (r *Router) Set(leg string, s Setting) error {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.core.Set(leg, s)
}

// Setting returns the current setting of a leg, or the zero value if there is no such leg.
func (r *Router) Setting(leg string) Setting {
	r.mu.Lock()
	defer r.mu.Unlock()

	l, err := r.core.leg(leg)
	if err != nil {
		return Setting{}
	}

	return l.Setting
}
