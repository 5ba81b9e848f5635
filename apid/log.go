// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"fmt"
	"io"
	"log/slog"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/grpclog"
)

// Limits of the log, as callers can cause lines in it.
const (
	logLinesPerSecond = 5
	logLinesAtOnce    = 50
)

// newLog returns a log with a limited rate, which counts the lines that it drops. It is gRPC's log too.
func newLog(w io.Writer) *slog.Logger {
	h := slog.NewTextHandler(&boundedWriter{w: w, account: rate.NewLimiter(logLinesPerSecond, logLinesAtOnce)}, nil)
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, slog.NewLogLogger(h, slog.LevelError).Writer()))

	return slog.New(h)
}

// boundedWriter limits the rate of lines. A slog handler writes one line at a time, each in one call.
type boundedWriter struct {
	w       io.Writer
	account *rate.Limiter
	left    int
}

// Write implements io.Writer.
func (b *boundedWriter) Write(line []byte) (int, error) {
	if !b.account.Allow() {
		b.left++

		return len(line), nil
	}

	if b.left > 0 {
		line = fmt.Appendf(line[:len(line)-1:len(line)-1], " \"left out before\"=%d\n", b.left)
		b.left = 0
	}

	return b.w.Write(line)
}
