// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"log/slog"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/nstest"
)

// TestSignals: process 1 of a PID namespace survives every signal, and the signals of requested write a request.
func TestSignals(t *testing.T) {
	if !nstest.IsolateInit(t) {
		return
	}

	signals := holdSignals()

	want := map[syscall.Signal]runtime.PowerRequestSpec{
		unix.SIGINT:  {Action: runtime.PowerReboot, Reason: "signal SIGINT"},
		unix.SIGTERM: {Action: runtime.PowerShutdown, Reason: "signal SIGTERM"},
		unix.SIGPWR:  {Action: runtime.PowerShutdown, Reason: "signal SIGPWR"},
		37:           {Action: runtime.PowerShutdown, Reason: "signal SIGRTMIN+3"},
	}

	for s := syscall.Signal(1); s <= 64; s++ {
		// Twice: the first may still be pending, and a handler of the runtime may run only once.
		for range 2 {
			if err := unix.Kill(1, s); err != nil {
				t.Fatalf("signal %d: %v", s, err)
			}

			time.Sleep(time.Millisecond)
		}

		st, asked := memory.New(), false

		for range 20 { // those that ask for nothing say nothing that could be waited for
			select {
			case received := <-signals:
				asked = true
				deliver(t, st, received)
			case <-time.After(5 * time.Millisecond):
			}
		}

		request, err := typed.Find[runtime.PowerRequestSpec](t.Context(), st, "", runtime.PowerRequestID)
		if err != nil {
			t.Fatal(err)
		}

		spec, wanted := want[s]

		switch {
		case wanted != asked || wanted != (request != nil):
			t.Errorf("signal %d: got a request: %t, want: %t", s, asked, wanted)
		case wanted && *request.TypedSpec() != spec:
			t.Errorf("signal %d: got %+v, want %+v", s, *request.TypedSpec(), spec)
		}
	}
}

// deliver passes a signal to obey, and again, which has no effect.
func deliver(t *testing.T, st state.State, s os.Signal) {
	t.Helper()

	signals := make(chan os.Signal)
	obeyed := guard.Go(func() error { obey(t.Context(), st, slog.New(slog.DiscardHandler), signals); return nil })

	for range 2 {
		select {
		case signals <- s:
		case err := <-obeyed:
			t.Fatalf("the process that obeys signals: %v", err)
		}
	}

	// When the third is received, the second has been handled.
	signals <- s
}
