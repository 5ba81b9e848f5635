// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// logOf returns a logger that adds the name of the resource. Most reconciliations log nothing, so the name is built only
// when something is logged.
func logOf(log *slog.Logger, ptr resource.Pointer) *slog.Logger {
	h := &jobHandler{Handler: log.Handler(), ptr: ptr}
	h.log = *slog.New(h)

	return &h.log
}

type jobHandler struct {
	slog.Handler

	ptr resource.Pointer
	log slog.Logger // in the same allocation, because each round has one
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
