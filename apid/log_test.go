// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLogIsBounded(t *testing.T) {
	t.Cleanup(func() { newLog(io.Discard) }) // gRPC's log

	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer

		log := newLog(&out).With("a", 1).WithGroup("g")
		for range 100_000 {
			log.Warn("connection refused", "error", errors.New("x"))
		}

		if got := strings.Count(out.String(), "\n"); got != logLinesAtOnce {
			t.Errorf("at once: got %d lines, want %d", got, logLinesAtOnce)
		}

		time.Sleep(10 * time.Second)
		out.Reset()
		log.Log(t.Context(), slog.LevelInfo, "after")

		if want := "msg=after a=1 \"left out before\"=99950\n"; !strings.HasSuffix(out.String(), want) {
			t.Errorf("got %q, want %q", out.String(), want)
		}
	})
}
