// SPDX-License-Identifier: Apache-2.0

package debian

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Lock has the version and the hash of each package. It is a file in the repository, so that all hosts build the same, and
// changes of packages are reviewed.
type Lock []Locked

// Locked is a line of the lock: name, version, hash, suite.
type Locked struct {
	Package

	// Suite is the suite of the archive. It is only for readers.
	Suite string
}

const lockHead = "# Packages of Debian that are built from: name, version, SHA-256 of the file, suite. Written by: make lock\n"

// ParseLock parses the text of a lock.
func ParseLock(text []byte) (Lock, error) {
	var lock Lock

	n := 0

	for line := range strings.Lines(string(text)) {
		n++

		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}

		fields := strings.Fields(line)
		if len(fields) != 4 || !isSHA256.MatchString(fields[2]) {
			return nil, fmt.Errorf("debian: lock: line %d: want name, version, SHA-256 and suite, got %q", n, line)
		}

		if _, err := lock.find(fields[0]); err == nil {
			return nil, fmt.Errorf("debian: lock: line %d: duplicate package %s", n, fields[0])
		}

		lock = append(lock, Locked{Package{Name: fields[0], Version: fields[1], SHA256: fields[2]}, fields[3]})
	}

	return lock, nil
}

var isSHA256 = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Encode returns the text of the lock, sorted by name.
func (l Lock) Encode() []byte {
	sorted := slices.SortedFunc(slices.Values(l), func(a, b Locked) int { return cmp.Compare(a.Name, b.Name) })
	out := bytes.NewBufferString(lockHead)

	for _, p := range slices.CompactFunc(sorted, func(a, b Locked) bool { return a.Name == b.Name }) {
		fmt.Fprintln(out, p.Name, p.Version, p.SHA256, p.Suite)
	}

	return out.Bytes()
}

// Select returns the named packages in the order of the names. A name with a * means the one package that it stands for; see
// Resolve.
func (l Lock) Select(names []string) ([]Package, error) {
	var packages []Package

	for _, name := range names {
		p, err := l.find(name)
		if err != nil {
			return nil, err
		}

		packages = append(packages, p)
	}

	return packages, nil
}

func (l Lock) find(name string) (Package, error) {
	var found []Package

	for _, p := range l {
		if matches(name, p.Name) {
			found = append(found, p.Package)
		}
	}

	if len(found) != 1 {
		return Package{}, fmt.Errorf("debian: lock: got %d packages %s, want 1: run make lock", len(found), name)
	}

	return found[0], nil
}

// version is a version that apt can download.
type version struct{ version, suite string }

// versions returns the versions of packages in the archives. Installed versions do not count.
func versions(ctx context.Context, names []string) (map[string][]version, error) {
	out, err := exec.CommandContext(ctx, "apt-cache", append([]string{"madison", "--"}, names...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("debian: apt-cache madison: %w", err)
	}

	return parseVersions(string(out)), nil
}

// parseVersions parses lines such as "libc6 | 2.36-9 | http://mirror.example/debian bookworm/main amd64 Packages".
func parseVersions(text string) map[string][]version {
	out := map[string][]version{}

	for line := range strings.Lines(text) {
		fields := strings.Split(line, "|")
		if len(fields) != 3 {
			continue
		}

		name, number, place := strings.TrimSpace(fields[0]), strings.TrimSpace(fields[1]), strings.Fields(fields[2])
		if name == "" || len(place) < 2 || place[len(place)-1] != "Packages" {
			continue
		}

		suite, _, _ := strings.Cut(place[1], "/")
		out[name] = append(out[name], version{number, suite})
	}

	return out
}

// Gone returns the packages that are neither in dir nor in the archive. An archive has only the newest version in each release.
func Gone(ctx context.Context, packages []Package, dir string) ([]Package, error) {
	var asked []Package

	for _, p := range packages {
		if _, err := os.Stat(p.file(dir)); err != nil {
			asked = append(asked, p)
		}
	}

	if len(asked) == 0 {
		return nil, nil
	}

	known, err := versions(ctx, names(asked))
	if err != nil {
		return nil, err
	}

	return slices.DeleteFunc(asked, func(p Package) bool {
		return slices.ContainsFunc(known[p.Name], func(v version) bool { return v.version == p.Version })
	}), nil
}

func names(packages []Package) (out []string) {
	for _, p := range packages {
		out = append(out, p.Name)
	}

	return out
}

// LockNewest returns a lock with the newest versions of the packages in all lists.
func LockNewest(ctx context.Context, lists ...[]string) (Lock, error) {
	if err := CheckSources("/etc/apt"); err != nil {
		return nil, err
	}

	var lock Lock

	for _, list := range lists {
		packages, err := Resolve(ctx, list)
		if err != nil {
			return nil, err
		}

		known, err := versions(ctx, names(packages))
		if err != nil {
			return nil, err
		}

		for _, p := range packages {
			i := slices.IndexFunc(known[p.Name], func(v version) bool { return v.version == p.Version })
			if i < 0 || !isSHA256.MatchString(p.SHA256) {
				return nil, fmt.Errorf("debian: %s: not in the archives of apt's sources", p)
			}

			p.Depends = ""
			lock = append(lock, Locked{p, known[p.Name][i].suite})
		}
	}

	return lock, nil
}

// unverified matches options of apt's sources that turn off the check of an archive's signature.
var unverified = regexp.MustCompile(`(?im)^[^#\n]*\b(trusted|allow-insecure|allow-weak)\s*[=:]\s*(yes|true|1)\b`)

// CheckSources returns an error if apt does not check the signatures of one of its sources. etc is apt's configuration folder.
// The archive's signature is the only protection of a package that is not locked.
func CheckSources(etc string) error {
	files, err := filepath.Glob(filepath.Join(etc, "sources.list.d", "*"))
	if err != nil {
		return err
	}

	for _, file := range append(files, filepath.Join(etc, "sources.list")) {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}

		if err != nil {
			return fmt.Errorf("debian: %w", err)
		}

		if found := unverified.Find(text); found != nil {
			return fmt.Errorf("debian: %s turns off the check of an archive's signature (%s): packages that are not in the lock must be signed",
				file, bytes.TrimSpace(found))
		}
	}

	return nil
}
