// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// haltSignal is SIGRTMIN+3, by which container engines ask an init to shut down (systemd(1)).
const haltSignal = syscall.Signal(34 + 3)

// shutDownOnSignal is the power button of a machine in a container.
func (m *Machine) shutDownOnSignal(ctx context.Context) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, haltSignal)

	defer signal.Stop(signals)

	m.obey(ctx, signals)
}

// obey asks for a shutdown at each signal.
func (m *Machine) obey(ctx context.Context, signals <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case received := <-signals:
			request := resource.New[runtime.PowerRequestSpec]("", runtime.PowerRequestID)
			*request.TypedSpec() = runtime.PowerRequestSpec{Action: runtime.PowerShutdown, Reason: "signal " + signalName(received)}

			// A second one finds the machine on its way down.
			if err := m.State.Create(ctx, request); err != nil && !state.IsConflict(err) {
				m.Log.Error("the signal to shut down was not obeyed", "error", err)
			}
		}
	}
}

func signalName(s os.Signal) string {
	if s == haltSignal {
		return "SIGRTMIN+3"
	}

	return "SIGTERM"
}
