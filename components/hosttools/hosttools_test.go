// SPDX-License-Identifier: Apache-2.0

package hosttools

import (
	"errors"
	"os"
	"path/filepath"
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
		{"gcc", "gcc", ""},
		{"mcopy", "mtools", ""},
		{"mdir", "mtools", ""},
		{"/usr/include/stdio.h", "libc6-dev", ""},
		{"/usr/include/seccomp.h", "libseccomp-dev", ""},
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
