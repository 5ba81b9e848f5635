// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/logring"
)

// Each signal asks for a shutdown, the second of two changes nothing.
func TestShutDownOnSignal(t *testing.T) {
	for _, tt := range []struct {
		signal syscall.Signal
		reason string
	}{{syscall.SIGTERM, "signal SIGTERM"}, {haltSignal, "signal SIGRTMIN+3"}} {
		t.Run(tt.reason, func(t *testing.T) {
			m := &Machine{State: memory.New(), Log: slog.New(slog.DiscardHandler)}
			signals := make(chan os.Signal, 2)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})

			go func() {
				defer close(done)
				m.obey(ctx, signals)
			}()

			signals <- tt.signal
			signals <- syscall.SIGTERM

			_, err := m.State.WatchFor(t.Context(), resource.PointerOf[runtime.PowerRequestSpec]("", runtime.PowerRequestID), state.FinalizersEmpty())
			if err != nil {
				t.Fatal(err)
			}

			cancel()
			<-done

			request, err := typed.Get[runtime.PowerRequestSpec](t.Context(), m.State, "", runtime.PowerRequestID)
			if err != nil {
				t.Fatal(err)
			}

			if got := request.TypedSpec(); got.Action != runtime.PowerShutdown || got.Reason != tt.reason || got.Force {
				t.Errorf("got %+v, want a shutdown for %s", got, tt.reason)
			}
		})
	}
}

// The console of a container has what the kernel's log has on a machine, with the time, which the kernel adds there.
func TestConsoleLog(t *testing.T) {
	var console bytes.Buffer

	logs := logring.New(logring.DefaultBytes)
	log := slog.New(&logHandler{out: &logOutput{logs: logs, console: &console}, level: slog.LevelInfo})

	log.Info("volume mounted", "volume", "STATE", "error", "a\nb")

	line := console.String()
	if !strings.HasPrefix(line, "[talos] 2") || !strings.HasSuffix(line, "INFO  volume mounted volume=STATE error=a\\nb\n") || strings.Count(line, "\n") != 1 {
		t.Errorf("got %q", line)
	}

	if !logs.Has(ServiceID) {
		t.Error("machined's own log has nothing")
	}
}
