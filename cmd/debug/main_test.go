// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/test/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// TestSame compares this test with itself, another program, and a file that is not a program.
func TestSame(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct{ symbols, running, want string }{
		{self, "/proc/self/exe", ""},
		{self, "/bin/ls", "another build"},
		{self, text, "read program " + text},
		{text + ".none", self, "talos-debug"},
	} {
		err := same(tt.symbols, tt.running)
		if got := err == nil; got != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s and %s: got %v, want %q", tt.symbols, tt.running, err, tt.want)
		}
	}
}

// TestConfigure expects the symbols under the build ID of the program, where the configuration says.
func TestConfigure(t *testing.T) {
	home := t.TempDir()

	err := configure(home, "/bin/ls", "main.go")
	if err != nil {
		t.Fatal(err)
	}

	found, err := filepath.Glob(filepath.Join(home, ".build-id", "??", "*.debug"))
	if err != nil || len(found) != 1 {
		t.Fatalf("got %q, %v, want one file of symbols", found, err)
	}

	if _, err := os.Stat(found[0]); err != nil {
		t.Error(err)
	}

	text, err := os.ReadFile(filepath.Join(home, "dlv", "config.yml"))
	if want := filepath.Join(home, ".build-id"); err != nil || !strings.Contains(string(text), want) {
		t.Errorf("got %q, %v, want %s in it", text, err, want)
	}

	if err := configure(t.TempDir(), "main.go", "main.go"); err == nil {
		t.Error("a file that is not a program: want an error")
	}
}
