// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/client/clienttest"
	"github.com/seed-59268b81/talos/config/talosconfig"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files; commit only what you understand")

// result is what a run of talosctl leaves behind.
type result struct {
	stdout, stderr string
	exit           int
}

// talosctl runs the command with a client configuration for the server.
func talosctl(t *testing.T, s *clienttest.Server, args ...string) result {
	t.Helper()
	useContext(t, s)

	return run(t.Context(), args...)
}

// useContext has a client configuration for the server be the one in use.
func useContext(t *testing.T, s *clienttest.Server) {
	t.Helper()

	path := filepath.Join(t.TempDir(), "talosconfig")
	if err := saveContext(path, s); err != nil {
		t.Fatal(err)
	}

	t.Setenv("TALOSCONFIG", path)
}

func saveContext(path string, s *clienttest.Server) error {
	return talosconfig.New("test", s.Context).Save(path)
}

func run(ctx context.Context, args ...string) result { return runRoot(ctx, New(), args...) }

func runRoot(ctx context.Context, root *cobra.Command, args ...string) result {
	var stdout, stderr bytes.Buffer

	root.SetArgs(args)
	root.SetOut(&stdout)
	root.SetIn(strings.NewReader(""))

	exit := Run(ctx, root, &stderr)

	return result{stdout: stdout.String(), stderr: stderr.String(), exit: exit}
}

var changing = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`go1\.\d+(\.\d+)?`), "goVERSION"},
	{regexp.MustCompile(`OS/Arch: .*`), "OS/Arch:     OS/ARCH"},
	{regexp.MustCompile(`/\S*/talosconfig`), "TALOSCONFIG"},
	{regexp.MustCompile(`(\dh)?(\d+m)?\d+s ago`), "TIME ago"},
}

// golden compares a result with testdata/NAME.txt.
func golden(t *testing.T, name string, r result) {
	t.Helper()

	got := r.stdout
	if r.stderr != "" {
		got += "--- stderr\n" + r.stderr
	}

	for _, c := range changing {
		got = c.what.ReplaceAllString(got, c.with)
	}

	path := filepath.Join("testdata", name+".txt")

	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the output differs from %s (-want +got):\n%s", path, diff)
	}
}

// inOrder wants parts of a text, each after those before it.
func inOrder(t *testing.T, text string, wanted []string) {
	t.Helper()

	rest := text

	for _, want := range wanted {
		_, after, ok := strings.Cut(rest, want)
		if !ok {
			t.Fatalf("got\n%s\nwant %q in it, after those before it", text, want)
		}

		rest = after
	}
}
