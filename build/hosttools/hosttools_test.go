// SPDX-License-Identifier: Apache-2.0

package hosttools

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMissing(t *testing.T) {
	root := t.TempDir()
	if err := errors.Join(
		os.MkdirAll(filepath.Join(root, "usr/include"), 0o755),
		os.WriteFile(filepath.Join(root, "usr/include/stdio.h"), nil, 0o644),
	); err != nil {
		t.Fatal(err)
	}

	installed := func(name string) (string, error) {
		if name == "gcc" {
			return "/usr/bin/gcc", nil
		}

		return "", errors.New("not found")
	}
	tools := []Tool{
		{"gcc", "gcc", Build, ""},
		{"mcopy", "mtools", Build, ""},
		{"mdir", "mtools", Build, ""},
		{"/usr/include/stdio.h", "libc6-dev", Build, ""},
		{"/usr/include/seccomp.h", "libseccomp-dev", Build, ""},
	}

	missing := Missing(root, tools, installed)
	if diff := cmp.Diff([]Tool{tools[1], tools[2], tools[4]}, missing); diff != "" {
		t.Errorf("missing tools (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff([]string{"libseccomp-dev", "mtools"}, Packages(missing)); diff != "" {
		t.Errorf("packages to install (-want +got):\n%s", diff)
	}
}

func TestListsFresh(t *testing.T) {
	now := time.Now()

	for name, test := range map[string]struct {
		list bool
		age  time.Duration
		want bool
	}{
		"never fetched":    {list: false, age: time.Hour, want: false},
		"fetched today":    {list: true, age: time.Hour, want: true},
		"fetched long ago": {list: true, age: 30 * 24 * time.Hour, want: false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()

			if test.list {
				list := filepath.Join(dir, "mirror_dists_bookworm_main_binary-amd64_Packages.lz4")
				if err := os.WriteFile(list, nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}

			then := now.Add(-test.age)
			if err := os.Chtimes(dir, then, then); err != nil {
				t.Fatal(err)
			}

			if got := listsFresh(dir, now); got != test.want {
				t.Errorf("fresh: got %v, want %v", got, test.want)
			}
		})
	}
}

func TestForUse(t *testing.T) {
	count := 0

	for _, use := range Uses {
		got := ForUse(use)
		if len(got) == 0 {
			t.Errorf("%s: got no tools", use)
		}

		count += len(got)
	}

	if count != len(Tools) {
		t.Errorf("tools of all uses: got %d, want %d: a tool has a use that is not in Uses", count, len(Tools))
	}

	names := map[string]bool{}
	for _, tool := range Tools {
		if names[tool.Name] || tool.For == "" {
			t.Errorf("%s: duplicate, or without a purpose", tool.Name)
		}

		names[tool.Name] = true
	}
}

// TestEnsureNamesToolsWithoutPackage sets an empty PATH: the system's folders have no go.
func TestEnsureNamesToolsWithoutPackage(t *testing.T) {
	t.Setenv("PATH", t.TempDir())

	for _, dir := range []string{"/usr/local/sbin", "/usr/sbin", "/sbin"} {
		if _, err := os.Stat(filepath.Join(dir, "go")); err == nil {
			t.Fatalf("%s has a go program", dir)
		}
	}

	err := Ensure(t.Context(), io.Discard, Build)
	if err == nil || !strings.Contains(err.Error(), "go is not in PATH") {
		t.Errorf("got %v, want that go is not in PATH", err)
	}
}

func TestHint(t *testing.T) {
	for name, want := range map[string]string{
		"sgdisk": "make host-tools installs it (Debian: apt-get install gdisk)",
		"rogue":  "it is not in the table of package hosttools",
	} {
		if got := Hint(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
