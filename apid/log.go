// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"fmt"
	"io"
	"log/slog"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/grpclog"
)

// What callers can cause lines of, they can cause many of. So many are written.
const (
	logLinesPerSecond = 5
	logLinesAtOnce    = 50
)

// newLog returns a log that is bounded in time; what it leaves out it counts. It is gRPC's log too.
func newLog(w io.Writer) *slog.Logger {
	h := slog.NewTextHandler(&boundedWriter{w: w, account: rate.NewLimiter(logLinesPerSecond, logLinesAtOnce)}, nil)
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, slog.NewLogLogger(h, slog.LevelError).Writer()))

	return slog.New(h)
}

// boundedWriter passes so many lines on in a time. A slog handler writes each line by one call, and one at a time.
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
