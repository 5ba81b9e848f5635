// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/service/logring"
)

// The console of a container shows what the kernel's log has on a machine, with the time, which the kernel adds there.
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
		t.Error("machined's own log is empty")
	}
}
