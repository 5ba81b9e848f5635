// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// logOf returns a logger that names the resource. Most reconciliations say nothing: the name is only put together for
// those that do.
func logOf(log *slog.Logger, ptr resource.Pointer) *slog.Logger {
	h := &jobHandler{Handler: log.Handler(), ptr: ptr}
	h.log = *slog.New(h)

	return &h.log
}

type jobHandler struct {
	slog.Handler

	ptr resource.Pointer
	log slog.Logger // beside what it writes to: there is one for each round
}

func (h *jobHandler) named() slog.Handler {
	return h.Handler.WithAttrs([]slog.Attr{slog.String("resource", h.ptr.String())})
}

// Handle implements slog.Handler.
func (h *jobHandler) Handle(ctx context.Context, r slog.Record) error {
	return h.named().Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *jobHandler) WithAttrs(attrs []slog.Attr) slog.Handler { return h.named().WithAttrs(attrs) }

// WithGroup implements slog.Handler.
func (h *jobHandler) WithGroup(name string) slog.Handler { return h.named().WithGroup(name) }
