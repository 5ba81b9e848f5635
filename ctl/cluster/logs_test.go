// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLogs(t *testing.T) {
	l := stopped(t)
	at := []string{"--state", filepath.Dir(l.State().Dir), "--name", "demo"}
	write := func(path, text string) {
		t.Helper()

		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	write(l.Node(0).ConsolePath(), "one\ntwo\nthree\n")
	write(l.Node(0).ConsolePath()+".1", "before\n")
	write(l.Node(1).ConsolePath(), "worker\n")
	write(l.State().LogPath(), "lab is up\n")

	tests := []struct {
		args []string
		want string
		err  string
	}{
		{nil, "one\ntwo\nthree\n", ""},
		{[]string{"--tail", "2"}, "two\nthree\n", ""},
		{[]string{"--tail", "0"}, "", ""},
		{[]string{"--tail", "9"}, "one\ntwo\nthree\n", ""},
		{[]string{"--boot", "1"}, "before\n", ""},
		{[]string{"--boot", "2"}, "", "--boot 2"},
		{[]string{"demo-worker-1"}, "worker\n", ""},
		{[]string{"10.5.0.3"}, "worker\n", ""},
		{[]string{"unknown"}, "", `no node "unknown"`},
		{[]string{"--lab"}, "lab is up\n", ""},
	}

	for _, tt := range tests {
		got, err := run(t, append(append([]string{"logs"}, at...), tt.args...)...)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q: got %q, %v, want %q, %q", tt.args, got, err, tt.want, tt.err)
		}
	}
}

func TestFollowLogGoesOnWithTheNextBoot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "console.log")
	if err := os.WriteFile(path, []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	done := make(chan error, 1)

	go func() { done <- printLog(ctx, w, path, -1, true); _ = w.Close() }()

	lines := make(chan string)

	go func() {
		buf := make([]byte, 100)

		for {
			n, err := r.Read(buf)
			if err != nil {
				return
			}

			lines <- string(buf[:n])
		}
	}()

	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()

	if got := <-lines; got != "old\n" {
		t.Errorf("got %q, want the old line", got)
	}

	if _, err := file.WriteString("new\n"); err != nil {
		t.Fatal(err)
	}

	if got := <-lines; got != "new\n" {
		t.Errorf("got %q, want the new line", got)
	}

	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(path, []byte("next boot\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	if got := <-lines; got != "next boot\n" {
		t.Errorf("got %q, want the next boot", got)
	}

	cancel()

	if err := <-done; err != nil {
		t.Error(err)
	}
}
