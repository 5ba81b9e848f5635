// SPDX-License-Identifier: Apache-2.0

package cosi_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// program is the first program of the README.
func program(t *testing.T) string {
	t.Helper()

	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}

	_, rest, found := strings.Cut(string(text), "```go\npackage main")
	code, _, closed := strings.Cut(rest, "\n```")

	if !found || !closed {
		t.Fatal("README.md has no program")
	}

	// The directory is below this one, to be in this module, and has a name that go list ignores.
	dir, err := os.MkdirTemp(".", "_readme")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { os.RemoveAll(dir) })

	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte("package main"+code+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	binary := filepath.Join(t.TempDir(), "program")
	if out, err := exec.Command("go", "build", "-o", binary, source).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}

	return binary
}

// TestReadme runs the README's program three times on one store: it creates the page, changes it, and removes it.
func TestReadme(t *testing.T) {
	binary, dir := program(t), t.TempDir()
	page := filepath.Join(dir, "index.html")

	for _, tt := range []struct{ title, want string }{
		{"Hello", "<h1>Hello</h1>\n"}, {"Hello again", "<h1>Hello again</h1>\n"}, {"", ""},
	} {
		var log bytes.Buffer

		//program:built the program of the README
		cmd := exec.Command(binary, "-dir", dir, "-set", tt.title)
		cmd.Stdout, cmd.Stderr = &log, &log

		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}

		got := "?"

		for deadline := time.Now().Add(30 * time.Second); got != tt.want && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			text, err := os.ReadFile(page)
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}

			got = string(text)
		}

		if got != tt.want {
			t.Errorf("title %q: got the page %q, want %q", tt.title, got, tt.want)
		}

		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}

		if err := cmd.Wait(); err != nil {
			t.Errorf("title %q: %v\n%s", tt.title, err, &log)
		}
	}
}
