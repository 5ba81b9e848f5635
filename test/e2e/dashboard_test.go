// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"
)

// dashboard reads the screens from a terminal, until each shows something that only the node knows.
func dashboard(t *testing.T, s *session) {
	terminal, side, err := openTerminal(120, 40)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}

	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	cmd := s.command(ctx, "dashboard")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = side, side, side
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	// The terminal hangs up when the last side of it is closed.
	if err := side.Close(); err != nil {
		t.Error(err)
	}

	ended := make(chan error, 1)

	screen := &watched{want: s.pattern(`Overview`), found: func() {}}

	go func() {
		io.Copy(screen, terminal) // a terminal that hangs up is an error
	}()
	go func() { ended <- cmd.Wait() }()

	for _, step := range []struct{ want, keys string }{{`@[\s\S]*etcd`, "2"}, {`log of \w+`, "q"}} {
		shown := s.pattern(step.want)

		for deadline := time.Now().Add(patience / 2); !shown.MatchString(screen.String()); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("got %q, want a match of %s", screen, step.want)
			}
		}

		if _, err := io.WriteString(terminal, step.keys); err != nil {
			t.Fatal(err)
		}
	}

	if err := <-ended; err != nil {
		t.Errorf("the dashboard ended with %v: %q", err, screen)
	}
}
