// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/test/cluster"
)

// patience is the time limit of one command. An emulated machine takes a second or two.
const patience = time.Minute

// session is a user's talosctl with a working folder of its own.
type session struct {
	*cluster.Cluster

	dir string
}

func newSession(t *testing.T, c *cluster.Cluster) *session {
	return &session{Cluster: c, dir: t.TempDir()}
}

// node returns the address of the machine.
func (s *session) node() string { return s.Node.Addr.String() }

// pattern compiles a pattern in which @ is the node's address.
func (s *session) pattern(text string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(text, "@", regexp.QuoteMeta(s.node())))
}

func (s *session) command(ctx context.Context, line string, more ...string) *exec.Cmd {
	cmd := s.TalosctlCommand(ctx, append(strings.Fields(line), more...)...)
	cmd.Dir = s.dir

	return cmd
}

// try runs talosctl with the words of the line, and with arguments that contain blanks.
func (s *session) try(t *testing.T, line string, more ...string) (string, error) {
	t.Helper()

	return s.tryFor(t, patience, line, more...)
}

func (s *session) tryFor(t *testing.T, timeout time.Duration, line string, more ...string) (string, error) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()

	out, err := s.command(ctx, line, more...).CombinedOutput()

	return string(out), err
}

// talosctl is try for a command that must succeed.
func (s *session) talosctl(t *testing.T, line string, more ...string) string {
	t.Helper()

	out, err := s.try(t, line, more...)
	if err != nil {
		t.Fatalf("talosctl %s %q: %v\n%s", line, more, err, out)
	}

	return out
}

// refused is try for a command that must fail with a matching message.
func (s *session) refused(t *testing.T, want, line string, more ...string) {
	t.Helper()

	out, err := s.try(t, line, more...)
	if err == nil || !s.pattern(want).MatchString(out) {
		t.Errorf("talosctl %s %q: got %v\n%s\nwant a failure with a match of %s", line, more, err, out, want)
	}
}

// shows looks for the pattern in the output of talosctl.
func (s *session) shows(t *testing.T, want, line string, more ...string) {
	t.Helper()

	if out := s.talosctl(t, line, more...); !s.pattern(want).MatchString(out) {
		t.Errorf("talosctl %s %q: got\n%s\nwant a match of %s", line, more, out, want)
	}
}

// takes is shows for a slow command.
func (s *session) takes(t *testing.T, timeout time.Duration, want, line string) {
	t.Helper()

	out, err := s.tryFor(t, timeout, line)
	if err != nil || !s.pattern(want).MatchString(out) {
		t.Errorf("talosctl %s: got %v\n%s\nwant a match of %s", line, err, out, want)
	}
}

// comesToShow is shows for an effect that comes after the answer.
func (s *session) comesToShow(t *testing.T, want, line string) {
	t.Helper()
	eventually(t, "talosctl "+line+" shows "+want, func() (string, bool) {
		out, err := s.try(t, line)

		return out, err == nil && s.pattern(want).MatchString(out)
	})
}

// interrupted runs a command that does not end by itself, and interrupts it, as Ctrl-C does, when the output matches.
func (s *session) interrupted(t *testing.T, want, line string) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	cmd := s.command(ctx, line)
	out := &watched{want: s.pattern(want), found: func() { cmd.Process.Signal(os.Interrupt) }} // it may have ended
	cmd.Stdout, cmd.Stderr = out, out

	err := cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != 130 {
		t.Errorf("talosctl %s: got status %d, %v\n%s\nwant a match of %s, and then 130", line, got, err, out, want)
	}
}

// watched calls found once, when the output matches.
type watched struct {
	want  *regexp.Regexp
	found func()

	mu   sync.Mutex
	all  bytes.Buffer
	once sync.Once
}

// Write implements io.Writer.
func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()

	n, err := w.all.Write(p)
	if w.want.Match(w.all.Bytes()) {
		w.once.Do(w.found)
	}

	return n, err
}

// String returns the output.
func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.all.String()
}

// eventually tries until it succeeds; at its timeout the test fails with what was last seen.
func eventually(t *testing.T, what string, try func() (seen string, ok bool)) {
	t.Helper()

	for deadline := time.Now().Add(2 * patience); ; time.Sleep(500 * time.Millisecond) {
		seen, ok := try()
		if ok {
			return
		}

		if time.Now().After(deadline) {
			t.Fatalf("waited %s until %s; last seen:\n%s", 2*patience, what, seen)
		}
	}
}
