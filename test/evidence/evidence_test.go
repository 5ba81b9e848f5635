// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fake is a test that passes or fails as configured.
type fake struct {
	failed   bool
	cleanups []func()
	said     []string
}

func (f *fake) Name() string                      { return "TestNode/a_step" }
func (f *fake) Failed() bool                      { return f.failed }
func (f *fake) Helper()                           {}
func (f *fake) Cleanup(do func())                 { f.cleanups = append(f.cleanups, do) }
func (f *fake) Errorf(format string, args ...any) { f.failed = true; f.Logf(format, args...) }
func (f *fake) Logf(format string, args ...any) {
	f.said = append(f.said, fmt.Sprintf(format, args...))
}

func TestOnFailure(t *testing.T) {
	for _, tt := range []struct {
		name    string
		failed  bool
		support string // a script that gets the file
		want    []string
		says    string
	}{
		{name: "passed"},
		{
			name: "failed", failed: true, support: `echo asking; echo zip > "$0"`,
			want: []string{"captures/wan.pcapng", "lab.log", "nodes/one/console.log", "nodes/one/console.log.1", "support.log", "support.zip"},
		},
		{
			name: "failed, with no API that answers", failed: true, support: "echo no route; exit 1",
			want: []string{"captures/wan.pcapng", "lab.log", "nodes/one/console.log", "nodes/one/console.log.1", "support.log"},
			says: "talosctl support: exit status 1, see support.log",
		},
		{
			name: "failed, without an API", failed: true,
			want: []string{"captures/wan.pcapng", "lab.log", "nodes/one/console.log", "nodes/one/console.log.1"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, dir := t.TempDir(), t.TempDir()
			old := filepath.Join(out, "failed/TestNode-a_step/old.log")

			for _, path := range []string{
				old, filepath.Join(dir, "lab.log"), filepath.Join(dir, "nodes/one/console.log"), filepath.Join(dir, "nodes/one/console.log.1"),
				filepath.Join(dir, "nodes/one/disk.qcow2"), filepath.Join(dir, "captures/wan.pcapng"), filepath.Join(dir, "talosconfig"),
			} {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}

				if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
					t.Fatal(err)
				}
			}

			m := Machines{Dir: dir}
			if tt.support != "" {
				m.Support = func(ctx context.Context, file string) *exec.Cmd {
					return exec.CommandContext(ctx, "sh", "-c", tt.support, file)
				}
			}

			f := &fake{}
			onFailure(f, out, m)

			f.failed = tt.failed
			for _, do := range f.cleanups {
				do()
			}

			if d := cmp.Diff(tt.want, filesBelow(t, filepath.Join(out, "failed"))); d != "" {
				t.Errorf("kept (-want +got):\n%s", d)
			}

			said := strings.Join(f.said, "\n")
			if tt.failed && !strings.HasSuffix(said, filepath.Join(out, "failed", "TestNode-a_step")) || !strings.Contains(said, tt.says) {
				t.Errorf("said: got %q, want %q and, last, the folder", said, tt.says)
			}
		})
	}
}

// TestOneMissing checks that a file that cannot be copied does not prevent the others.
func TestOneMissing(t *testing.T) {
	dir, folder := t.TempDir(), filepath.Join(t.TempDir(), "failed", "TestNode-a_step")

	for _, name := range []string{"a.log", "z.log"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	// A folder has the name of the first copy.
	if err := os.MkdirAll(filepath.Join(folder, "a.log"), 0o755); err != nil {
		t.Fatal(err)
	}

	if err := copyLogs(dir, folder); err == nil || !strings.Contains(err.Error(), "a.log") {
		t.Errorf("got %v, want an error about a.log", err)
	}

	if _, err := os.Stat(filepath.Join(folder, "z.log")); err != nil {
		t.Errorf("the other: %v", err)
	}
}

func filesBelow(t *testing.T, dir string) []string {
	t.Helper()

	var files []string

	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, strings.TrimPrefix(path, dir+"/TestNode-a_step/"))
		}

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return files
}
