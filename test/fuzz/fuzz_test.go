// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fuzzed is a package with a target of each kind of result.
const fuzzed = `package fuzzed

import "testing"

func FuzzFine(f *testing.F) {
	f.Add("seed")
	f.Fuzz(func(*testing.T, string) {})
}

func FuzzBad(f *testing.F) {
	f.Add("seed")
	f.Fuzz(func(t *testing.T, text string) {
		if text == "seed" {
			t.Error("a finding")
		}
	})
}

func FuzzSkipped(f *testing.F) { f.Skip("it needs what is not here") }
`

func TestFuzz(t *testing.T) {
	t.Chdir(t.TempDir())

	for name, text := range map[string]string{"go.mod": "module fuzzed.test\n\ngo 1.26\n", "fuzzed_test.go": fuzzed} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	for _, tt := range []struct{ name, run, want, err string }{
		{
			"all", "", `^\[1/3\] fuzzed\.test FuzzFine\nok    \S+, \d+ executions, \d+ new inputs?\n` +
				`\[2/3\] fuzzed\.test FuzzBad\nFAIL  fuzzed\.test FuzzBad after [^\n]*\n(.*\n)+.*a finding\n(.*\n)*` +
				`\[3/3\] fuzzed\.test FuzzSkipped\nskip  it executed nothing\n\n3 targets: 1 failed, 1 skipped\n$`,
			"these targets failed: fuzzed.test FuzzBad",
		},
		{"one", "Fine$", `^\[1/1\] fuzzed\.test FuzzFine\nok    .*\n\n1 target: 0 failed, 0 skipped\n$`, ""},
		{"none", "Other", `^$`, "no target matches"},
		{"no expression", "(", `^$`, "-run: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder

			err := fuzz(t.Context(), &out, "20x", tt.run, []string{"./..."})
			if got := out.String(); !regexp.MustCompile(tt.want).MatchString(got) {
				t.Errorf("got\n%s\nwant a match of %s", got, tt.want)
			}

			if (err == nil) != (tt.err == "") || err != nil && !strings.HasPrefix(err.Error(), tt.err) {
				t.Errorf("got error %v, want %q", err, tt.err)
			}
		})
	}
}

func TestTargetsIn(t *testing.T) {
	const text = `package p
func FuzzA(f *testing.F) {}
func Fuzz(f *testing.F) {}
func Fuzzy(f *testing.F) {}
func Fuzz_b(f *testing.F) {}
func FuzzHelp() {}
func (s suite) FuzzC(f *testing.F) {}
func TestFuzz(t *testing.T) {}
`

	got, err := targetsIn(filepath.Join("p", "p_test.go"), text)
	if diff := cmp.Diff([]string{"FuzzA", "Fuzz", "Fuzz_b"}, got); err != nil || diff != "" {
		t.Errorf("error %v; names (-want +got):\n%s", err, diff)
	}

	if _, err := targetsIn("broken_test.go", "package"); err == nil {
		t.Error("a file that does not parse has targets")
	}
}

func TestRead(t *testing.T) {
	const output = "warning: starting with empty corpus\n" +
		"fuzz: elapsed: 0s, gathering baseline coverage: 0/3 completed\n" +
		"fuzz: elapsed: 3s, execs: 7509 (2503/sec), new interesting: 10 (total: 13)\n" +
		"fuzz: elapsed: 6s, execs: 15964 (2818/sec), new interesting: 13 (total: 16)\n" +
		"PASS\nok  \tp\t6.1s"

	got := read(strings.NewReader(output), func(progress) { t.Error("progress was printed within the first minute") })
	want := result{progress: progress{"6s", 15964, 13}, output: "warning: starting with empty corpus\nPASS\nok  \tp\t6.1s"}

	if got != want {
		t.Errorf("got %#v, want %#v", got, want)
	}
}

func TestEndedLate(t *testing.T) {
	const end = "FAIL\nexit status 1\nFAIL\tp\t10.2s\n"

	for _, tt := range []struct {
		name, output string
		want         bool
	}{
		{"only late", "--- FAIL: FuzzX (10.21s)\n    context deadline exceeded\n" + end, true},
		{"an input that fails at the end", "--- FAIL: FuzzX (10.21s)\n    context deadline exceeded\nFAIL\nFailing input written to testdata/fuzz/FuzzX/1\n" + end, false},
		{"a seed that fails", "--- FAIL: FuzzX (0.01s)\n    --- FAIL: FuzzX (0.00s)\n        x_test.go:9: context deadline exceeded\n" + end, false},
		{"a message of the target", "--- FAIL: FuzzX (0.01s)\n    x_test.go:9: context deadline exceeded\n" + end, false},
		{"it does not compile", "# p\n./x_test.go:1:1: expected package\nFAIL\tp [setup failed]\nFAIL\n", false},
	} {
		if got := endedLate(tt.output); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.name, got, tt.want)
		}
	}
}
