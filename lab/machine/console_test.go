// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestCleaner(t *testing.T) {
	tests := []struct {
		name   string
		pieces []string
		want   string
	}{
		{"lines", []string{"one\r\ntwo\r\n"}, "> one\n> two\n"},
		{"a line in pieces", []string{"on", "e\ntw", "o"}, "> one\n> two"},
		{"colours and movement", []string{"\x1b[2J\x1b[01;01H\x1b[=3hBds\x1b[0mDxe\n"}, "> BdsDxe\n"},
		{"an escape in pieces", []string{"a\x1b", "[0", ";1mb\n"}, "> ab\n"},
		{"a title", []string{"\x1b]0;title\x07a\n"}, "> a\n"},
		{"a title without end", []string{"\x1b]0;title\na\n"}, "\n> a\n"},
		{"a device report", []string{"\x1bPq\x1b\\a\n"}, "> a\n"},
		{"empty lines", []string{"\n\r\n\na\n"}, "> a\n"},
		{"tabs stay, other controls go", []string{"a\tb\x00\x08\x7fc\n"}, "> a\tbc\n"},
		{"UTF-8 stays", []string{"é ✓\n"}, "> é ✓\n"},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var (
				c   cleaner
				got string
			)

			for _, p := range tt.pieces {
				got += c.clean([]byte(p), "> ")
			}

			want := strings.TrimPrefix(tt.want, "\n")
			if d := cmp.Diff(want, strings.TrimPrefix(got, "\n")); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// FuzzCleaner checks that the text does not depend on the chunks of the input, and has no control characters.
func FuzzCleaner(f *testing.F) {
	f.Add([]byte("\x1b[2J\x1b]0;t\x07one\r\n\ttwo"), 3)
	f.Add([]byte("\x1bP\x1b\\\x1b\x1b[\n"), 1)

	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		if cut < 0 || cut > len(in) {
			return
		}

		var whole, pieces cleaner

		want := whole.clean(in, "> ")

		if got := pieces.clean(in[:cut], "> ") + pieces.clean(in[cut:], "> "); got != want {
			t.Fatalf("in chunks: got %q, want %q", got, want)
		}

		if strings.ContainsFunc(want, func(r rune) bool { return r != utf8.RuneError && r < 0x20 && r != '\n' && r != '\t' }) {
			t.Fatalf("control characters are left in %q", want)
		}
	})
}

func TestConsoleKeepsBoots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "console.log")
		c := NewConsole(path)

		for boot := range consoleKeep + 3 {
			if err := c.Boot(); err != nil {
				t.Fatal(err)
			}

			time.Sleep(1234 * time.Millisecond)

			if _, err := c.ReadFrom(strings.NewReader(fmt.Sprintf("boot %d\r\n", boot))); err != nil {
				t.Fatal(err)
			}
		}

		if err := c.Close(); err != nil {
			t.Fatal(err)
		}

		for i, want := range map[int]string{0: "+  1.234 boot 22\n", 1: "+  1.234 boot 21\n", consoleKeep: "+  1.234 boot 2\n"} {
			got, err := os.ReadFile(c.numbered(i))
			if err != nil || string(got) != want {
				t.Errorf("%d boots ago: got %q, %v, want %q", i, got, err, want)
			}
		}

		if _, err := os.Stat(c.numbered(consoleKeep + 1)); !os.IsNotExist(err) {
			t.Errorf("more than %d boots are kept: %v", consoleKeep, err)
		}
	})
}

// A full disk must not stop the machine.
func TestConsoleReadsOnWhenItCannotWrite(t *testing.T) {
	c := NewConsole(filepath.Join(t.TempDir(), "console.log"))
	if err := c.Boot(); err != nil {
		t.Fatal(err)
	}

	if err := c.file.Close(); err != nil {
		t.Fatal(err)
	}

	text := iotest.OneByteReader(strings.NewReader("one\n"))

	if n, err := c.ReadFrom(text); n != 4 || !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %d bytes, %v, want 4 and the reason of their loss", n, err)
	}
}
