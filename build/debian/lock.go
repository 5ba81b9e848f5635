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

// Lock has one version of each package that is taken, with the hash of its file. It is a file in the repository, so that two
// machines build the same, and a change of what they build is a change that is looked at.
type Lock []Locked

// Locked is a line of it: name, version, hash, suite.
type Locked struct {
	Package

	// Suite is where it was found; for the reader.
	Suite string
}

const lockHead = "# Packages of Debian that are built from: name, version, SHA-256 of the file, suite. Written by: make lock\n"

// ParseLock reads the text of a lock.
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
			return nil, fmt.Errorf("debian: lock: line %d: %s is there twice", n, fields[0])
		}

		lock = append(lock, Locked{Package{Name: fields[0], Version: fields[1], SHA256: fields[2]}, fields[3]})
	}

	return lock, nil
}

var isSHA256 = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Encode is the text of a lock, by name.
func (l Lock) Encode() []byte {
	sorted := slices.SortedFunc(slices.Values(l), func(a, b Locked) int { return cmp.Compare(a.Name, b.Name) })
	out := bytes.NewBufferString(lockHead)

	for _, p := range slices.CompactFunc(sorted, func(a, b Locked) bool { return a.Name == b.Name }) {
		fmt.Fprintln(out, p.Name, p.Version, p.SHA256, p.Suite)
	}

	return out.Bytes()
}

// Select returns the packages of the names, in their order. A name that ends in *, see Resolve, is the one package that begins so.
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

	prefix, wild := strings.CutSuffix(name, "*")

	for _, p := range l {
		if p.Name == name || wild && strings.HasPrefix(p.Name, prefix) {
			found = append(found, p.Package)
		}
	}

	if len(found) != 1 {
		return Package{}, fmt.Errorf("debian: the lock has %d packages %s, want 1: run make lock", len(found), name)
	}

	return found[0], nil
}

// version is one that apt could fetch.
type version struct{ version, suite string }

// versions asks apt which versions of packages there are. What the machine has installed does not count.
func versions(ctx context.Context, names []string) (map[string][]version, error) {
	out, err := exec.CommandContext(ctx, "apt-cache", append([]string{"madison", "--"}, names...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("debian: apt-cache madison: %w", err)
	}

	return parseVersions(string(out)), nil
}

// parseVersions reads lines such as "libc6 | 2.36-9 | http://mirror.example/debian bookworm/main amd64 Packages".
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

// Gone returns those of the packages that are not in dir, and that the archive no longer has: of each release it has the newest
// version alone.
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

// LockNewest is a lock of the newest versions of packages, of each list of names.
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
				return nil, fmt.Errorf("debian: %s is in no archive that apt follows", p)
			}

			p.Depends = ""
			lock = append(lock, Locked{p, known[p.Name][i].suite})
		}
	}

	return lock, nil
}

// unverified is what in apt's sources turns the check of an archive's signature off.
var unverified = regexp.MustCompile(`(?im)^[^#\n]*\b(trusted|allow-insecure|allow-weak)\s*[=:]\s*(yes|true|1)\b`)

// CheckSources refuses sources of apt, below a folder, whose signatures are not checked: the hash of a package that is not locked
// is believed because the archive's signature covers it.
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
			return fmt.Errorf("debian: %s turns the check of an archive's signature off (%s): what is not in the lock is not taken from such a machine",
				file, bytes.TrimSpace(found))
		}
	}

	return nil
}
