// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	root := t.TempDir()
	below := filepath.Join(root, "build", "modules", "etcd")

	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}

	// The module of a third-party program is not ours.
	for dir, name := range map[string]string{root: module, below: module + "/build/modules/etcd"} {
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module "+name+"\n\ngo 1.26\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	t.Chdir(below)

	got, err := Find()
	if want := filepath.Join(root, "out", "bin", "talosctl"); err != nil || got.Bin("talosctl") != want {
		t.Errorf("got %s, %v; want %s", got.Bin("talosctl"), err, want)
	}

	t.Chdir(t.TempDir())

	if got, err := Find(); err == nil || !strings.Contains(err.Error(), "run this inside the repository") {
		t.Errorf("outside of the repository: got %v, %v", got, err)
	}
}

// TestPublished checks that the published paths are the same as those in an output folder.
func TestPublished(t *testing.T) {
	for name, place := range map[string]func(Paths) string{
		"disk": Paths.Disk, "root": Paths.Root, "layout": Paths.ImageLayout, "firmware": Paths.FirmwareCode, "kernel": Paths.Vmlinuz,
	} {
		relative := place(Published)
		if got, want := place(Of("/repository")), "/repository/out/"+relative; !filepath.IsLocal(relative) || got != want {
			t.Errorf("%s: got %s, published as %s", name, got, relative)
		}
	}
}

func TestModules(t *testing.T) {
	kernel := t.TempDir()

	for _, tt := range []struct{ release, err string }{
		{"", "kernel modules: "}, {"6.1.0-1", ""}, {"6.1.0-2", "has 2 releases, want 1"},
	} {
		if tt.release != "" {
			if err := os.MkdirAll(filepath.Join(kernel, "lib/modules", tt.release), 0o755); err != nil {
				t.Fatal(err)
			}
		}

		got, err := Modules(kernel)

		switch {
		case tt.err == "" && (err != nil || filepath.Base(got) != tt.release):
			t.Errorf("%s: got %s, %v", tt.release, got, err)
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("%q: got %v, want an error with %q", tt.release, err, tt.err)
		}
	}
}
