// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// TestLogOf: the logger of a job, and loggers derived from it, log the same as a logger created by With.
func TestLogOf(t *testing.T) {
	ptr := resource.Pointer{Namespace: "network", Type: "Links", ID: "eth0"}

	for _, tt := range []struct {
		name string
		use  func(log *slog.Logger)
	}{
		{"a line", func(log *slog.Logger) { log.Info("up", "mtu", 1500) }},
		{"with attributes", func(log *slog.Logger) { log.With("a", 1).Info("up", "mtu", 1500) }},
		{"in a group", func(log *slog.Logger) { log.WithGroup("g").Info("up", "mtu", 1500) }},
		{"below the level", func(log *slog.Logger) { log.Debug("up") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got, want bytes.Buffer

			said := func(w *bytes.Buffer) *slog.Logger {
				return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
					if a.Key == slog.TimeKey {
						return slog.Attr{}
					}

					return a
				}})).With("controller", "c")
			}

			tt.use(logOf(said(&got), ptr))
			tt.use(said(&want).With("resource", ptr.String()))

			if got.String() != want.String() {
				t.Errorf("got %q, want %q", got.String(), want.String())
			}
		})
	}
}
