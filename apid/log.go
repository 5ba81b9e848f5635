// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"io"
	"log/slog"
	"sync"

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
	h := bounded{Handler: slog.NewTextHandler(w, nil), limit: &limit{account: rate.NewLimiter(logLinesPerSecond, logLinesAtOnce)}}
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, slog.NewLogLogger(h, slog.LevelError).Writer()))

	return slog.New(h)
}

type bounded struct {
	slog.Handler

	limit *limit
}

type limit struct {
	account *rate.Limiter

	mu   sync.Mutex
	left int
}

// Handle implements slog.Handler.
func (h bounded) Handle(ctx context.Context, r slog.Record) error {
	left, ok := h.limit.take()
	if !ok {
		return nil
	}

	if left > 0 {
		r.AddAttrs(slog.Int("left out before", left))
	}

	return h.Handler.Handle(ctx, r)
}

func (l *limit) take() (left int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()

	if !l.account.Allow() {
		l.left++

		return 0, false
	}

	left, l.left = l.left, 0

	return left, true
}

// WithAttrs implements slog.Handler.
func (h bounded) WithAttrs(attrs []slog.Attr) slog.Handler {
	return bounded{Handler: h.Handler.WithAttrs(attrs), limit: h.limit}
}

// WithGroup implements slog.Handler.
func (h bounded) WithGroup(name string) slog.Handler {
	return bounded{Handler: h.Handler.WithGroup(name), limit: h.limit}
}
