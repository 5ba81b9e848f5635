// SPDX-License-Identifier: Apache-2.0

package qemu

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-59268b81/talos/lab/machine"
)

// answerTime is how long a new QEMU may take to answer on its monitor. It takes 50 ms, or some seconds on a busy
// computer that starts many at once.
const answerTime = 30 * time.Second

// sameReset is how soon after a reset another one counts as the same.
const sameReset = time.Second

// Machine is a virtual machine.
type Machine struct {
	cfg     Config
	plug    func(card int, conn net.Conn)
	log     *slog.Logger
	console *machine.Console
	tracker *machine.Tracker

	// button is held while the power button or a card is used. It guards which cards are unplugged.
	button sync.Mutex

	run atomic.Pointer[run] // nil while off
}

// run is one run of the QEMU process.
type run struct {
	process *process
	monitor *monitor

	mu sync.Mutex // guards last
	// last is the latest action of the guest or the button, to explain the end.
	last string

	// reset is the time of the latest reset, for the monitor's goroutine only.
	reset time.Time
	// off is closed when the process has ended and the status is updated.
	off chan struct{}
	// released has the identifiers of devices that the guest has released.
	released chan string
}

// New returns a machine that is off. When it is switched on, or a card is plugged in, plug is called with the stream of
// each network card; it must return at once. Changed, if not nil, is called after each change of the status.
func New(cfg Config, plug func(card int, conn net.Conn), changed func(machine.Status), log *slog.Logger) *Machine {
	cfg.Cards = slices.Clone(cfg.Cards) // which are unplugged changes

	log = log.With("node", cfg.Name)

	return &Machine{
		cfg: cfg, plug: plug, log: log, console: machine.NewConsole(cfg.ConsolePath()), tracker: machine.NewTracker(log, changed),
	}
}

// Status returns the status of the machine.
func (m *Machine) Status() machine.Status { return m.tracker.Status() }

// On switches the power on.
func (m *Machine) On(ctx context.Context) error {
	m.button.Lock()
	defer m.button.Unlock()

	if m.run.Load() != nil {
		return fmt.Errorf("switch on %s: %w", m.cfg.Name, machine.ErrOn)
	}

	if err := m.start(ctx); err != nil {
		m.tracker.Update(func(s *machine.Status) { s.Why = err.Error() })

		return fmt.Errorf("switch on %s: %w", m.cfg.Name, err)
	}

	return nil
}

func (m *Machine) start(ctx context.Context) error {
	if err := m.prepare(); err != nil {
		return err
	}

	plugged := m.cfg.plugged()

	p, err := startProcess(m.cfg.Binary, m.cfg.args(), len(plugged), filepath.Join(m.cfg.Dir, "qemu.log"))
	if err != nil {
		return err
	}

	for i, card := range plugged {
		m.plug(card, p.cards[i])
	}

	r := &run{process: p, last: "QEMU ended", off: make(chan struct{}), released: make(chan string, 1)}
	r.monitor = newMonitor(p.monitor, func(e qmpMessage) { m.event(r, e) })

	m.run.Store(r)
	m.tracker.Update(func(s *machine.Status) { s.Power, s.Why, s.PID, s.Boots = machine.On, "switched on", p.pid, s.Boots+1 })

	go m.watch(r)

	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()

	if err := r.monitor.execute(ctx, "qmp_capabilities"); err != nil {
		p.kill()
		<-r.off

		if output := p.lastOutput(); output != "" {
			return fmt.Errorf("QEMU did not start: %s", output)
		}

		return fmt.Errorf("QEMU did not start: %w", err)
	}

	return nil
}

// prepare creates the firmware's variables and a console log.
func (m *Machine) prepare() error {
	if f := m.cfg.Firmware; f != nil {
		if _, err := os.Stat(m.cfg.varsPath()); os.IsNotExist(err) {
			vars, err := os.ReadFile(f.Vars)
			if err != nil {
				return fmt.Errorf("copy the firmware's variables: %w", err)
			}

			if err := os.WriteFile(m.cfg.varsPath(), vars, 0o600); err != nil {
				return fmt.Errorf("copy the firmware's variables: %w", err)
			}
		}
	}

	return m.console.Boot()
}

// watch follows a run to its end.
func (m *Machine) watch(r *run) {
	if _, err := m.console.ReadFrom(r.process.console); err != nil {
		m.log.Error("console lost", "error", err)
	}

	err := r.process.wait()

	r.mu.Lock()
	why := r.last
	r.mu.Unlock()
	m.run.Store(nil)

	if err != nil && why != machine.PowerCut {
		why = fmt.Sprintf("%s: %v: %s", why, err, r.process.lastOutput())
	}

	m.tracker.Update(func(s *machine.Status) { s.Power, s.Why, s.PID, s.Paused = machine.Off, why, 0, false })

	if err := m.console.Close(); err != nil {
		m.log.Error("console not closed", "error", err)
	}

	close(r.off)
}

// event handles an event of QEMU.
func (m *Machine) event(r *run, e qmpMessage) {
	switch e.Event {
	case "RESET":
		// A BIOS that has run before resets once more, and the kernel may reset several times: this counts as one
		// reset.
		if again := time.Since(r.reset) < sameReset; again {
			return
		}

		r.reset = time.Now()

		why := "reset"
		if e.Data.Guest {
			why = "the guest rebooted"
		}

		if err := m.console.Boot(); err != nil {
			m.log.Error("console lost", "error", err)
		}

		m.tracker.Update(func(s *machine.Status) { s.Why, s.Boots = why, s.Boots+1 })
	case "SHUTDOWN":
		why := "QEMU was ended"
		if e.Data.Guest {
			why = "the guest powered off"
		}

		r.mu.Lock()
		if r.last != machine.PowerCut {
			r.last = why
		}
		r.mu.Unlock()
	case "DEVICE_DELETED":
		if e.Data.Device != "" { // else it is a part of a device
			select {
			case r.released <- e.Data.Device:
			default: // no call waits for it
			}
		}
	case "WATCHDOG":
		m.tracker.Update(func(s *machine.Status) { s.Why = "the watchdog fired: " + e.Data.Action })
	}
}

// Reset presses the reset button.
func (m *Machine) Reset(ctx context.Context) error {
	if err := m.tell(ctx, "reset", "system_reset"); err != nil || !m.Status().Paused {
		return err
	}

	return m.Resume(ctx) // QEMU resets a paused machine and leaves it paused
}

// Off asks the guest to power off, and waits until it has or ctx is done.
func (m *Machine) Off(ctx context.Context) error {
	r := m.run.Load()
	if r == nil {
		return nil
	}

	if err := m.tell(ctx, "switch off", "system_powerdown"); err != nil {
		return err
	}

	select {
	case <-r.off:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("switch off %s: the guest was asked and has not powered off (%w); a power cut does not ask", m.cfg.Name, ctx.Err())
	}
}

func (m *Machine) tell(ctx context.Context, op, command string) error {
	r := m.run.Load()
	if r == nil {
		return fmt.Errorf("%s %s: %w", op, m.cfg.Name, machine.ErrOff)
	}

	if err := r.monitor.execute(ctx, command); err != nil {
		return fmt.Errorf("%s %s: %w", op, m.cfg.Name, err)
	}

	return nil
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
	r.last = machine.PowerCut
	r.mu.Unlock()
	r.process.kill()

	<-r.off
}
