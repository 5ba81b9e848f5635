// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// haltSignal is SIGRTMIN+3, by which container engines request a shutdown (systemd(1)).
const haltSignal = syscall.Signal(34 + 3)

// lastSignal is SIGRTMAX.
const lastSignal = syscall.Signal(64)

// requested maps signals to the actions that they request. The kernel sends SIGINT for Ctrl-Alt-Del (kernel.ctrl-alt-del=0) and
// SIGPWR when the power supply fails. Container engines send SIGTERM or SIGRTMIN+3.
var requested = map[os.Signal]runtime.PowerAction{
	unix.SIGINT:  runtime.PowerReboot,
	unix.SIGTERM: runtime.PowerShutdown,
	unix.SIGPWR:  runtime.PowerShutdown,
	haltSignal:   runtime.PowerShutdown,
}

// holdSignals handles all signals, as the handlers of Go's runtime end the process for some of them. The kernel ignores only
// signals without a handler for process 1, and panics when it ends. The channel receives the signals that request an action,
// also those from before it is read. All others are dropped.
//
// They are not ignored by SIG_IGN, which every child would inherit.
func holdSignals() <-chan os.Signal {
	requests := make(chan os.Signal, len(requested))
	rest := make(chan os.Signal, 1) // never read

	for s := syscall.Signal(1); s <= lastSignal; s++ {
		switch _, ok := requested[s]; {
		case ok:
			signal.Notify(requests, s)
		case s == unix.SIGKILL, s == unix.SIGSTOP, // the kernel does not deliver them to process 1
			s == unix.SIGURG,  // the runtime preempts goroutines by it
			s == unix.SIGCHLD: // the reaper handles it
		default:
			signal.Notify(rest, s)
		}
	}

	return requests
}

// obey writes a request for each signal. Signals that arrive after the first request have no effect.
func obey(ctx context.Context, st state.State, log *slog.Logger, signals <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case received := <-signals:
			request(ctx, st, log, requested[received], "signal "+signalName(received))
		}
	}
}

// request writes a power request, unless there is one already.
func request(ctx context.Context, st state.State, log *slog.Logger, action runtime.PowerAction, reason string) {
	r := resource.New[runtime.PowerRequestSpec]("", runtime.PowerRequestID)
	*r.TypedSpec() = runtime.PowerRequestSpec{Action: action, Reason: reason}

	if err := st.Create(ctx, r); err != nil && !state.IsConflict(err) {
		log.Error("the power request was not written", "action", action, "reason", reason, "error", err)
	}
}

func signalName(s os.Signal) string {
	number, _ := s.(syscall.Signal)
	if number == haltSignal {
		return "SIGRTMIN+3"
	}

	return unix.SignalName(number)
}
