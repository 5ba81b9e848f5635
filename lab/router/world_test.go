// SPDX-License-Identifier: Apache-2.0

package router

import (
	"bytes"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/lab/netswitch"
)

// world is networks by name, with routers and hosts on them.
type world interface {
	addRouter(cfg Config, networks ...string)
	addHost(h *host, network string)
	// pass advances the time.
	pass(d time.Duration)
}

// latency of a frame in the virtual world.
const latency = time.Millisecond

// virtualWorld has virtual time: frames arrive in order, and nothing runs concurrently.
type virtualWorld struct {
	t       *testing.T
	now     time.Time
	members map[string][]*member
	cores   map[*Core]func([]Frame)
	flying  []flight
}

type member struct{ receive func(frame []byte) }

type flight struct {
	at    time.Time
	to    *member
	frame []byte
}

func newVirtualWorld(t *testing.T) *virtualWorld {
	return &virtualWorld{
		t: t, now: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC),
		members: map[string][]*member{}, cores: map[*Core]func([]Frame){},
	}
}

// plug returns a function with which a new member of a network sends.
func (w *virtualWorld) plug(network string, receive func([]byte)) func([]byte) {
	self := &member{receive}
	w.members[network] = append(w.members[network], self)

	return func(frame []byte) {
		for _, m := range w.members[network] {
			if m != self {
				w.flying = append(w.flying, flight{w.now.Add(latency), m, bytes.Clone(frame)})
			}
		}
	}
}

func (w *virtualWorld) addRouter(cfg Config, networks ...string) {
	core := newCore(w.t, cfg)
	send := make([]func([]byte), len(networks))

	emit := func(frames []Frame) {
		for _, f := range frames {
			send[f.Leg](f.Data)
		}
	}

	for i, network := range networks {
		send[i] = w.plug(network, func(frame []byte) { emit(core.Receive(i, frame, w.now)) })
	}

	w.cores[core] = emit
}

func (w *virtualWorld) addHost(h *host, network string) { h.send = w.plug(network, h.receive) }

func (w *virtualWorld) pass(d time.Duration) {
	for end := w.now.Add(d); ; {
		next := end
		if len(w.flying) > 0 && w.flying[0].at.Before(next) {
			next = w.flying[0].at
		}

		var due *Core

		for core := range w.cores {
			if at, waits := core.Next(); waits && at.Before(next) {
				next, due = at, core
			}
		}

		if next.After(w.now) {
			w.now = next
		}

		switch {
		case due != nil:
			w.cores[due](due.Tick(w.now))
		case len(w.flying) > 0 && !w.flying[0].at.After(w.now) && next != end:
			f := w.flying[0]
			w.flying = w.flying[1:]
			f.to.receive(f.frame)
		default:
			return
		}
	}
}

// switchWorld runs in real time: each network is a switch.
type switchWorld struct {
	t        *testing.T
	switches map[string]*netswitch.Switch
}

func newSwitchWorld(t *testing.T) *switchWorld {
	return &switchWorld{t: t, switches: map[string]*netswitch.Switch{}}
}

func (w *switchWorld) network(name string) *netswitch.Switch {
	if w.switches[name] == nil {
		w.switches[name] = netswitch.New(1)
	}

	return w.switches[name]
}

func (w *switchWorld) addRouter(cfg Config, networks ...string) {
	var plugs []Plug
	for _, n := range networks {
		plugs = append(plugs, Plug{w.network(n), "router-" + cfg.Legs[0].Name})
	}

	r, err := Start(cfg, plugs)
	if err != nil {
		w.t.Fatal(err)
	}

	w.t.Cleanup(r.Close)
}

func (w *switchWorld) addHost(h *host, network string) {
	port := w.network(network).Attach(h.addr.String(), h.receive)
	w.t.Cleanup(port.Close)

	h.send = port.Send
}

func (w *switchWorld) pass(d time.Duration) { time.Sleep(d) }
