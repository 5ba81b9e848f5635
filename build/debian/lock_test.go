// SPDX-License-Identifier: Apache-2.0

package debian

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	hashA = strings.Repeat("a", 64)
	hashB = strings.Repeat("b", 64)
)

func TestLock(t *testing.T) {
	lock, err := ParseLock([]byte("# a comment\n\nlinux-image-6.1.0-56 6.1-2 " + hashB + " bookworm-security\nlibc6 2.36-9 " + hashA + " bookworm\n"))
	if err != nil {
		t.Fatal(err)
	}

	if got, want := string(lock.Encode()), lockHead+"libc6 2.36-9 "+hashA+" bookworm\nlinux-image-6.1.0-56 6.1-2 "+hashB+" bookworm-security\n"; got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}

	got, err := lock.Select([]string{"linux-image-6*", "libc6"})
	if diff := cmp.Diff([]Package{{"linux-image-6.1.0-56", "6.1-2", hashB, ""}, {"libc6", "2.36-9", hashA, ""}}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}

	for _, name := range []string{"libc", "l*", "x*"} {
		if _, err := lock.Select([]string{name}); err == nil || !strings.Contains(err.Error(), "make lock") {
			t.Errorf("%s: got %v, want an error that says what to do", name, err)
		}
	}

	for _, text := range []string{"libc6 2.36-9", "libc6 2.36-9 abc bookworm", "a 1 " + hashA + " s\na 2 " + hashB + " s"} {
		if _, err := ParseLock([]byte(text)); err == nil {
			t.Errorf("%q: got no error", text)
		}
	}
}

func FuzzParseLock(f *testing.F) {
	f.Add([]byte("libc6 2.36-9 " + hashA + " bookworm\n"))
	f.Add([]byte("#\n\x00 \r\n"))

	f.Fuzz(func(t *testing.T, text []byte) {
		lock, err := ParseLock(text)
		if err != nil {
			return
		}

		again, err := ParseLock(lock.Encode())
		if err != nil || len(again) != len(lock) {
			t.Errorf("%v: written and read again: %d of %d packages", err, len(again), len(lock))
		}
	})
}

func TestParseVersions(t *testing.T) {
	const text = `     libc6 | 2.36-9+deb12u14 | http://mirror.example/debian bookworm/main amd64 Packages
     libc6 | 2.36-9+deb12u7 | http://mirror.example/debian-security bookworm-security/main amd64 Packages
     glibc | 2.36-9 | http://mirror.example/debian bookworm/main Sources
nonsense
`

	want := map[string][]version{"libc6": {{"2.36-9+deb12u14", "bookworm"}, {"2.36-9+deb12u7", "bookworm-security"}}}
	if diff := cmp.Diff(want, parseVersions(text), cmp.AllowUnexported(version{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFetch tests files in the cache and from the archive that differ from the lock.
func TestFetch(t *testing.T) {
	const content = "the package"

	sum := sha256.Sum256([]byte(content))
	p := Package{Name: "libc6", Version: "2.36-9", SHA256: hex.EncodeToString(sum[:])}

	for _, tt := range []struct {
		name, cached, archive string
		downloads             int
		want                  string // in the error
	}{
		{"from the archive", "", content, 1, ""},
		{"cached", content, "", 0, ""},
		{"another file in the cache", "something else", content, 1, ""},
		{"cut off in the cache", content[:4], content, 1, ""},
		{"another file in the archive", "", "something else", 1, "want " + p.SHA256},
		{"in both", "something else", "something else", 1, "want " + p.SHA256},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, downloads := t.TempDir(), 0

			if tt.cached != "" {
				if err := os.WriteFile(p.file(dir), []byte(tt.cached), 0o644); err != nil {
					t.Fatal(err)
				}
			}

			paths, err := fetch(t.Context(), []Package{p}, dir, func(_ context.Context, dir string, packages []string) error {
				downloads++

				if diff := cmp.Diff([]string{"libc6=2.36-9"}, packages); diff != "" {
					t.Errorf("downloads (-want +got):\n%s", diff)
				}

				return os.WriteFile(filepath.Join(dir, "libc6_2.36-9_amd64.deb"), []byte(tt.archive), 0o644)
			})

			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) || downloads != tt.downloads {
				t.Fatalf("got %v after %d downloads, want %q after %d", err, downloads, tt.want, tt.downloads)
			}

			if err != nil {
				return
			}

			if got, err := os.ReadFile(paths[0]); err != nil || string(got) != content {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}

	broken := errors.New("no network")
	if _, err := fetch(t.Context(), []Package{p}, t.TempDir(), func(context.Context, string, []string) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

func TestCheckSources(t *testing.T) {
	for text, refused := range map[string]bool{
		"deb http://mirror.example/debian bookworm main\n":                               false,
		"deb [trusted=yes] http://mirror/debian bookworm main\n":                         true,
		"deb [ arch=amd64 trusted=yes ] http://mirror/debian bookworm main\n":            true,
		"# deb [trusted=yes] http://mirror/debian bookworm main\n":                       false,
		"Types: deb\nTrusted: yes\n":                                                     true,
		"Types: deb\nTrusted: no\nSigned-By: /usr/share/keyrings/trusted.gpg\n":          false,
		"deb [signed-by=/etc/trusted.gpg allow-insecure=yes] http://m bookworm main\n":   true,
		"Types: deb\nURIs: http://mirror.example/debian\nAllow-Insecure: yes\nSuites: x": true,
	} {
		for _, name := range []string{"sources.list", "sources.list.d/debian.sources"} {
			dir := t.TempDir()

			if err := errors.Join(os.Mkdir(filepath.Join(dir, "sources.list.d"), 0o755), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}

			if err := CheckSources(dir); (err != nil) != refused {
				t.Errorf("%s: %q: got %v, refused: want %t", name, text, err, refused)
			}
		}
	}
}
