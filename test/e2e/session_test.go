// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
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

// user is a user's talosctl with a working folder of its own.
type user struct {
	// program returns a run of talosctl as the administrator.
	program func(ctx context.Context, args ...string) *exec.Cmd
	// address is that of the machine that the commands are about.
	address, dir string
}

// session is a user of a cluster of one machine.
type session struct {
	*cluster.Cluster
	*user
}

func newSession(t *testing.T, c *cluster.Cluster) *session {
	return &session{c, &user{program: c.TalosctlCommand, address: c.Node.Addr.String(), dir: t.TempDir()}}
}

// newUser returns a user of the first control plane of a lab.
func newUser(t *testing.T, l *cluster.UserLab) *user {
	return &user{program: l.TalosctlCommand, address: l.Open().Node(0).Addr.String(), dir: t.TempDir()}
}

// node returns the address of the machine.
func (u *user) node() string { return u.address }

// pattern compiles a pattern in which @ is the node's address.
func (u *user) pattern(text string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(text, "@", regexp.QuoteMeta(u.node())))
}

func (u *user) command(ctx context.Context, line string, more ...string) *exec.Cmd {
	cmd := u.program(ctx, append(strings.Fields(line), more...)...)
	cmd.Dir = u.dir

	return cmd
}

// try runs talosctl with the words of the line, and with arguments that contain blanks.
func (u *user) try(t *testing.T, line string, more ...string) (string, error) {
	t.Helper()

	return u.tryFor(t, patience, line, more...)
}

func (u *user) tryFor(t *testing.T, timeout time.Duration, line string, more ...string) (string, error) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()

	out, err := u.command(ctx, line, more...).CombinedOutput()

	return string(out), err
}

// talosctl is try for a command that must succeed.
func (u *user) talosctl(t *testing.T, line string, more ...string) string {
	t.Helper()

	out, err := u.try(t, line, more...)
	if err != nil {
		t.Fatalf("talosctl %s %q: %v\n%s", line, more, err, out)
	}

	return out
}

// refused is try for a command that must fail with a matching message.
func (u *user) refused(t *testing.T, want, line string, more ...string) {
	t.Helper()

	out, err := u.try(t, line, more...)
	if err == nil || !u.pattern(want).MatchString(out) {
		t.Errorf("talosctl %s %q: got %v\n%s\nwant a failure with a match of %s", line, more, err, out, want)
	}
}

// shows looks for the pattern in the output of talosctl.
func (u *user) shows(t *testing.T, want, line string, more ...string) {
	t.Helper()

	if out := u.talosctl(t, line, more...); !u.pattern(want).MatchString(out) {
		t.Errorf("talosctl %s %q: got\n%s\nwant a match of %s", line, more, out, want)
	}
}

// takes is shows for a slow command.
func (u *user) takes(t *testing.T, timeout time.Duration, want, line string) {
	t.Helper()

	out, err := u.tryFor(t, timeout, line)
	if err != nil || !u.pattern(want).MatchString(out) {
		t.Errorf("talosctl %s: got %v\n%s\nwant a match of %s", line, err, out, want)
	}
}

// comesToShow is shows for an effect that comes after the answer.
func (u *user) comesToShow(t *testing.T, want, line string) {
	t.Helper()
	eventually(t, "talosctl "+line+" shows "+want, func() (string, bool) {
		out, err := u.try(t, line)

		return out, err == nil && u.pattern(want).MatchString(out)
	})
}

// comesNotToShow is comesToShow for the end of an effect.
func (u *user) comesNotToShow(t *testing.T, unwanted, line string) {
	t.Helper()
	eventually(t, "talosctl "+line+" does not show "+unwanted, func() (string, bool) {
		out, err := u.try(t, line)

		return out, err == nil && !u.pattern(unwanted).MatchString(out)
	})
}

// worksMeanwhile has another user call the machine again and again until the returned function is called, which reports the failures.
func (u *user) worksMeanwhile(t *testing.T) (end func()) {
	ctx, cancel := context.WithCancel(t.Context())
	calls, failures, ended := 0, []string(nil), make(chan struct{})

	go func() {
		defer close(ended)

		for ; ctx.Err() == nil; calls++ {
			one, cancel := context.WithTimeout(ctx, patience)
			out, err := u.command(one, "get hostname").CombinedOutput()

			cancel()

			if err != nil && ctx.Err() == nil {
				failures = append(failures, fmt.Sprintf("%v: %s", err, out))
			}
		}
	}()

	return func() {
		t.Helper()
		cancel()
		<-ended
		t.Logf("%d calls of another user in the meantime", calls)

		if calls < 2 || len(failures) > 0 {
			t.Errorf("of %d calls in the meantime these failed: %q", calls, failures)
		}
	}
}

// interrupted runs a command that does not end by itself, and interrupts it, as Ctrl-C does, when the output matches.
func (u *user) interrupted(t *testing.T, want, line string) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	cmd := u.command(ctx, line)
	out := &watched{want: u.pattern(want), found: func() { cmd.Process.Signal(os.Interrupt) }} // it may have ended
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
