// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/seed-59268b81/talos/lab/machine"
)

// Machine is a container.
type Machine struct {
	cfg     Config
	plug    func(card int, frames io.ReadWriteCloser)
	log     *slog.Logger
	console *machine.Console
	tracker *machine.Tracker

	// button is held while the power button or a card is used. It guards which cards are unplugged.
	button sync.Mutex

	run atomic.Pointer[run] // nil while off
}

// run is the time from a power-on to the next power-off.
type run struct {
	// off is closed when the power is off and the status is updated.
	off chan struct{}

	mu sync.Mutex // guards the fields below
	// cut and reset are the actions of the button.
	cut, reset bool
	boot       *boot
}

// boot is one run of process 1.
type boot struct {
	process *process
	cards   map[int]*os.File
	// ended is set when process 1 has ended, and so its cards; run.mu guards it.
	ended bool
	// over is closed when the machine has been started again, or is off.
	over chan struct{}
}

// New returns a machine that is off. When it boots, or a card is plugged in, plug is called with the device of each
// network card. It must return at once, and close the device later. Changed, if not nil, is called after each change of
// the status.
func New(cfg Config, plug func(card int, frames io.ReadWriteCloser), changed func(machine.Status), log *slog.Logger) *Machine {
	cfg.Cards = slices.Clone(cfg.Cards) // which are unplugged changes

	log = log.With("node", cfg.Name)

	return &Machine{
		cfg: cfg, plug: plug, log: log, console: machine.NewConsole(cfg.ConsolePath()), tracker: machine.NewTracker(log, changed),
	}
}

// Status returns the status of the machine.
func (m *Machine) Status() machine.Status { return m.tracker.Status() }

// On switches the power on.
func (m *Machine) On(context.Context) error {
	m.button.Lock()
	defer m.button.Unlock()

	if m.run.Load() != nil {
		return fmt.Errorf("switch on %s: %w", m.cfg.Name, machine.ErrOn)
	}

	b, err := m.boot()
	if err != nil {
		m.tracker.Update(func(s *machine.Status) { s.Why = err.Error() })

		return fmt.Errorf("switch on %s: %w", m.cfg.Name, err)
	}

	r := &run{boot: b, off: make(chan struct{})}

	m.run.Store(r)
	m.booted(b, "switched on")

	go m.live(r)

	return nil
}

func (m *Machine) booted(b *boot, why string) {
	m.tracker.Update(func(s *machine.Status) {
		s.Power, s.Why, s.PID, s.Boots, s.Paused = machine.On, why, b.process.pid, s.Boots+1, false
	})
}

// boot starts process 1 in namespaces and cgroups of its own.
func (m *Machine) boot() (*boot, error) {
	for _, dir := range []string{rootDir, stateDir, ephemeralDir} {
		if err := os.MkdirAll(filepath.Join(m.cfg.Dir, dir), 0o755); err != nil {
			return nil, fmt.Errorf("create the machine's folders: %w", err)
		}
	}

	if err := m.console.Boot(); err != nil {
		return nil, err
	}

	if err := m.cfg.Cgroup.create(m.cfg.Limits); err != nil {
		return nil, err
	}

	p, err := startProcess(m.cfg.spec(), m.cfg.Cgroup, m.cfg.IDs)
	if err != nil {
		return nil, err
	}

	b := &boot{process: p, cards: map[int]*os.File{}, over: make(chan struct{})}

	if err := m.begin(b); err != nil {
		p.kill()
		_ = p.wait() // the error is that it was killed
		b.close()

		return nil, err
	}

	return b, nil
}

// begin creates the network cards and starts process 1.
func (m *Machine) begin(b *boot) error {
	for i, card := range m.cfg.Cards {
		if card.Unplugged {
			continue
		}

		if err := m.insert(b, i); err != nil {
			return err
		}
	}

	return b.process.run()
}

func (b *boot) close() {
	for _, card := range b.cards {
		_ = card.Close() // the switch may have closed it
	}
}

// live handles the boots of a machine until its power is off.
func (m *Machine) live(r *run) {
	for {
		b := r.boot
		e := m.watch(r, b)

		if e.again {
			next, err := m.next(r, e.pause)
			if next != nil {
				m.booted(next, e.why)
				close(b.over)

				continue
			}

			if e.why = machine.PowerCut; err != nil {
				e.why = err.Error()
			}
		}

		m.run.Store(nil)
		m.tracker.Update(func(s *machine.Status) { s.Power, s.Why, s.PID, s.Paused = machine.Off, e.why, 0, false })

		if err := m.console.Close(); err != nil {
			m.log.Error("console not closed", "error", err)
		}

		close(b.over)
		close(r.off)

		return
	}
}

// watch waits for the end of process 1.
func (m *Machine) watch(r *run, b *boot) end {
	logged := make(chan struct{})

	go func() {
		defer close(logged)

		if _, err := m.console.ReadFrom(b.process.console); err != nil {
			m.log.Error("console lost", "error", err)
		}
	}()

	err := <-b.process.ended
	// All output of the machine is in the pipe, which now ends.
	_ = b.process.writer.Close()
	<-logged

	r.mu.Lock()
	e := judge(r.cut, r.reset, err)
	r.reset, b.ended = false, true
	// Under the lock: a card that is plugged in uses a descriptor of the process.
	b.process.disconnect()
	b.close()
	r.mu.Unlock()

	if err := RemoveCgroups(m.cfg.Cgroup.dirs()...); err != nil {
		m.log.Error("cgroups left", "error", err)
	}

	return e
}

// next boots again. It returns nil if the power was cut during the pause.
func (m *Machine) next(r *run, pause time.Duration) (*boot, error) {
	time.Sleep(pause)

	r.mu.Lock()
	defer r.mu.Unlock()

	if r.cut {
		return nil, nil
	}

	next, err := m.boot()
	if err != nil {
		return nil, err
	}

	r.boot = next

	return next, nil
}

// Reset presses the reset button.
func (m *Machine) Reset(ctx context.Context) error {
	r := m.run.Load()
	if r == nil {
		return fmt.Errorf("reset %s: %w", m.cfg.Name, machine.ErrOff)
	}

	r.mu.Lock()
	b := r.boot

	if !b.ended { // else it is being started again
		r.reset = true
		b.process.kill()
		m.cfg.Cgroup.thaw()
	}
	r.mu.Unlock()

	select {
	case <-b.over:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("reset %s: %w", m.cfg.Name, ctx.Err())
	}
}

// Off asks the guest to power off, and waits until it has or ctx is done.
func (m *Machine) Off(ctx context.Context) error {
	r := m.run.Load()
	if r == nil {
		return nil
	}

	r.mu.Lock()

	if r.boot.ended { // no process 1 can be asked between two boots
		r.cut = true
	} else {
		_ = r.boot.process.cmd.Process.Signal(syscall.SIGTERM) // fails only when it has ended
	}
	r.mu.Unlock()

	select {
	case <-r.off:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("switch off %s: the guest was asked and has not powered off (%w); a power cut does not ask", m.cfg.Name, ctx.Err())
	}
}

// Cut cuts the power. A machine that is off stays off.
func (m *Machine) Cut() {
	m.button.Lock()
	defer m.button.Unlock()

	r := m.run.Load()
	if r == nil {
		return
	}

	r.mu.Lock()
	r.cut = true
	r.boot.process.kill()
	m.cfg.Cgroup.thaw()
	r.mu.Unlock()

	<-r.off
}
