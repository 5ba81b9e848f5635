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

// haltSignal is SIGRTMIN+3, by which container engines ask an init to shut down (systemd(1)).
const haltSignal = syscall.Signal(34 + 3)

// lastSignal is SIGRTMAX.
const lastSignal = syscall.Signal(64)

// requested is what a signal to process 1 asks for. The kernel sends SIGINT for Ctrl-Alt-Del (kernel.ctrl-alt-del=0), and
// SIGPWR when the power supply fails; container engines send SIGTERM or SIGRTMIN+3.
var requested = map[os.Signal]runtime.PowerAction{
	unix.SIGINT:  runtime.PowerReboot,
	unix.SIGTERM: runtime.PowerShutdown,
	unix.SIGPWR:  runtime.PowerShutdown,
	haltSignal:   runtime.PowerShutdown,
}

// holdSignals takes all signals from the runtime of Go, whose handlers end the process for some of them. The kernel protects
// process 1 from signals without a handler only, and its end is the kernel's panic. The channel has those that ask for
// something, also of the time before somebody reads it; all others are ignored.
//
// They are not ignored by disposition (SIG_IGN): every child would inherit that.
func holdSignals() <-chan os.Signal {
	asked := make(chan os.Signal, len(requested))
	rest := make(chan os.Signal, 1) // nobody reads it

	for s := syscall.Signal(1); s <= lastSignal; s++ {
		switch _, ok := requested[s]; {
		case ok:
			signal.Notify(asked, s)
		case s == unix.SIGKILL, s == unix.SIGSTOP, // which the kernel keeps from process 1 itself
			s == unix.SIGURG,  // by which the runtime preempts goroutines, all the time; it ends nothing
			s == unix.SIGCHLD: // the reaper's
		default:
			signal.Notify(rest, s)
		}
	}

	return asked
}

// obey makes a request of each signal. One that comes while another request is carried out changes nothing.
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

// request asks for the end of the machine, unless that is asked for already.
func request(ctx context.Context, st state.State, log *slog.Logger, action runtime.PowerAction, reason string) {
	r := resource.New[runtime.PowerRequestSpec]("", runtime.PowerRequestID)
	*r.TypedSpec() = runtime.PowerRequestSpec{Action: action, Reason: reason}

	if err := st.Create(ctx, r); err != nil && !state.IsConflict(err) {
		log.Error("the machine was not told to end", "action", action, "reason", reason, "error", err)
	}
}

func signalName(s os.Signal) string {
	number, _ := s.(syscall.Signal)
	if number == haltSignal {
		return "SIGRTMIN+3"
	}

	return unix.SignalName(number)
}
