// SPDX-License-Identifier: Apache-2.0

package fileset

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/build/source"
)

// TestLockHasAllPackages checks that the lock has exactly the packages of the sets.
func TestLockHasAllPackages(t *testing.T) {
	lock, err := readLock("../..")
	if err != nil {
		t.Fatal(err)
	}

	var used, locked []string

	for _, s := range all() {
		packages, err := lock.Select(s.packages)
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
		}

		for _, p := range packages {
			used = append(used, p.Name)
		}
	}

	for _, p := range lock {
		locked = append(locked, p.Name)
	}

	slices.Sort(used)
	slices.Sort(locked)

	if diff := cmp.Diff(slices.Compact(used), locked); diff != "" {
		t.Errorf("-used +locked:\n%s", diff)
	}

	if text, err := os.ReadFile(filepath.Join("../..", lockFile)); err != nil || !bytes.Equal(text, lock.Encode()) {
		t.Errorf("%v: the file is not in the format of make lock", err)
	}
}

// TestGoneFromTheArchive has an archive with a newer version: the build continues with a warning, or fails if it is strict.
func TestGoneFromTheArchive(t *testing.T) {
	hash := func(c string) string { return strings.Repeat(c, 64) }
	root, out, bin := t.TempDir(), t.TempDir(), t.TempDir()
	files := map[string]string{
		filepath.Join(root, lockFile): "a 1 " + hash("1") + " bookworm\nb 1 " + hash("2") + " bookworm\nc 1 " + hash("3") + " bookworm\n",
		filepath.Join(bin, "apt-cache"): `#!/bin/sh
case $1 in
madison) printf '%s\n' 'a | 1 | http://x bookworm/main amd64 Packages' 'b | 2 | http://x bookworm-security/main amd64 Packages' 'c | 1 | http://x bookworm/main amd64 Packages' ;;
*) printf 'Package: a\nVersion: 1\nSHA256: ` + hash("1") + `\n\nPackage: b\nVersion: 2\nSHA256: ` + hash("4") + `\n' ;;
esac
`,
	}

	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	t.Setenv("PATH", bin+":/bin:/usr/bin")

	sets[0].packages, sets[1].packages = swap(t, 0, "a", "b"), swap(t, 1, "c")
	changed, same := sets[0], sets[1]

	strict := &Packages{Root: root, Cache: out, Apt: bin, Strict: true}
	if _, err := strict.of(t.Context(), changed); err == nil || !strings.Contains(err.Error(), "b=1") || !strings.Contains(err.Error(), "make lock") {
		t.Errorf("got %v, want an error with the missing package and what to do", err)
	}

	if _, err := strict.of(t.Context(), same); err != nil {
		t.Error(err)
	}

	loose := &Packages{Root: root, Cache: out, Apt: bin}

	got, err := loose.of(t.Context(), changed)
	if err != nil || fmt.Sprint(got) != "[a=1 b=2]" || got[1].SHA256 != hash("4") {
		t.Fatalf("got %v, %v, want the newest", got, err)
	}

	if got, err := loose.of(t.Context(), same); err != nil || fmt.Sprint(got) != "[c=1]" {
		t.Errorf("got %v, %v, want the locked one", got, err)
	}

	var log bytes.Buffer
	if err := loose.Report(out, &log); err != nil || !strings.Contains(log.String(), "WARNING") || !strings.Contains(log.String(), "no longer has b=1; used: b=2") {
		t.Errorf("%v, console: %s", err, log.String())
	}

	list := filepath.Join(out, unlockedFile)
	if text, err := os.ReadFile(list); err != nil || !strings.Contains(string(text), "b=2") {
		t.Errorf("got %q, %v", text, err)
	}

	log.Reset()

	if err := strict.Report(out, &log); err != nil || log.Len() > 0 {
		t.Errorf("a build as locked: %v, console %q", err, log.String())
	}

	if _, err := os.Stat(list); err == nil {
		t.Error("the list of an earlier build still exists")
	}
}

// swap replaces the packages of a set during a test.
func swap(t *testing.T, set int, packages ...string) []string {
	t.Helper()

	before := sets[set].packages
	t.Cleanup(func() { sets[set].packages = before })

	return packages
}

func TestSourcesAreThere(t *testing.T) {
	if _, err := source.Of("../..", setSources...); err != nil {
		t.Error(err)
	}
}
