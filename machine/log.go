// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/seed-59268b81/talos/machine/server"
	"github.com/seed-59268b81/talos/service/bootlog"
	"github.com/seed-59268b81/talos/service/logring"
	"github.com/seed-59268b81/talos/sys/kmsg"
	"github.com/seed-59268b81/talos/sys/platform"
)

// ServiceID is machined's own name as a service, and the name of its log.
const ServiceID = server.MachinedLog

// logHandler writes each record as one line to machined's log and to the kernel's log, which the console shows. In a container
// it writes to standard error, the console there.
type logHandler struct {
	out   *logOutput
	level slog.Level
	attrs string
	group string
}

type logOutput struct {
	mu sync.Mutex
	// kmsg is the kernel's log, and console its replacement in a container. At most one of them is set.
	kmsg    io.Writer
	console io.Writer
	logs    *logring.Logs
}

// newLog returns machined's logger. If the kernel's log cannot be opened, it writes to machined's log only.
func newLog(p platform.Platform, logs *logring.Logs, level slog.Level) *slog.Logger {
	out := &logOutput{logs: logs}

	if !p.Owns(platform.KernelLog) {
		out.console = os.Stderr
	} else if f, err := os.OpenFile(kmsg.Path, os.O_WRONLY, 0); err == nil {
		out.kmsg = f
	}

	return slog.New(&logHandler{out: out, level: level})
}

// Enabled implements slog.Handler.
func (h *logHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

// WithAttrs implements slog.Handler.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h

	for _, a := range attrs {
		c.attrs += formatAttr(h.group, a)
	}

	return &c
}

// WithGroup implements slog.Handler.
func (h *logHandler) WithGroup(name string) slog.Handler {
	c := *h
	c.group += name + "."

	return &c
}

// Handle implements slog.Handler.
func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder

	b.WriteString(r.Message)
	b.WriteString(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		b.WriteString(formatAttr(h.group, a))

		return true
	})

	// One record is one line, even if an error has several.
	line := strings.ReplaceAll(b.String(), "\n", "\\n")

	stamped := fmt.Appendf(nil, "%s %-5s %s", r.Time.UTC().Format("2006-01-02T15:04:05.000Z"), r.Level, line)

	h.out.logs.Append(ServiceID, stamped)

	h.out.mu.Lock()
	defer h.out.mu.Unlock()

	var err error

	switch {
	case h.out.kmsg != nil:
		_, err = fmt.Fprintf(h.out.kmsg, "<%d>[talos] %s\n", severity(r.Level), clip(line))
	case h.out.console != nil:
		_, err = fmt.Fprintf(h.out.console, "[talos] %s\n", stamped)
	}

	return err
}

// keepKernelLog copies the kernel's messages to the journal.
func keepKernelLog(ctx context.Context, log *slog.Logger, journal *bootlog.Journal) {
	err := kmsg.Read(ctx, true, func(m kmsg.Message) error {
		journal.Append(bootlog.Kernel, []byte(m.Format(kmsg.BootTime())))

		return nil
	})
	if err != nil {
		log.Warn("the kernel's log is not kept for later boots", "error", err)
	}
}

// severity returns the priority of syslog, in the facility user.
func severity(level slog.Level) int {
	const user = 1 << 3

	switch {
	case level >= slog.LevelError:
		return user | 3
	case level >= slog.LevelWarn:
		return user | 4
	case level >= slog.LevelInfo:
		return user | 6
	default:
		return user | 7
	}
}

// clip shortens a line to what the kernel accepts in one write, about a kibibyte.
func clip(line string) string {
	const limit = 960
	if len(line) <= limit {
		return line
	}

	return strings.ToValidUTF8(line[:limit], "") + "…"
}

func formatAttr(group string, a slog.Attr) string {
	value := a.Value.Resolve().String()
	if value == "" || strings.ContainsAny(value, " \"=") {
		value = fmt.Sprintf("%q", value)
	}

	return " " + group + a.Key + "=" + value
}
