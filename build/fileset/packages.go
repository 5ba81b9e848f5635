// SPDX-License-Identifier: Apache-2.0

package fileset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/seed-59268b81/talos/build/debian"
	"github.com/seed-59268b81/talos/build/hosttools"
)

// lockFile, in the repository, has the versions of Debian's packages; see debian.Lock.
const lockFile = "build/debian.lock"

// unlockedFile, in the output folder, lists the packages that a build used instead of those of the lock. It exists only if there
// are any.
const unlockedFile = "unlocked.txt"

// WriteLock updates the lock to the newest Debian packages.
func WriteLock(ctx context.Context, root string, log io.Writer) error {
	if err := hosttools.Update(ctx, log); err != nil {
		return err
	}

	var lists [][]string
	for _, s := range all() {
		lists = append(lists, s.packages)
	}

	lock, err := debian.LockNewest(ctx, lists...)
	if err != nil {
		return err
	}

	return os.WriteFile(filepath.Join(root, lockFile), lock.Encode(), 0o644)
}

func readLock(root string) (debian.Lock, error) {
	text, err := os.ReadFile(filepath.Join(root, lockFile))
	if err != nil {
		return nil, fmt.Errorf("read the lock of Debian's packages: %w", err)
	}

	return debian.ParseLock(text)
}

// Packages resolves the packages of the sets.
type Packages struct {
	// Root is the repository, which has the lock, and Cache the build cache.
	Root, Cache string
	// Apt is apt's configuration folder.
	Apt string
	// Strict rejects packages that are not locked.
	Strict bool
	// Flavour is that of the kernel, Cloud by default.
	Flavour Flavour

	mu       sync.Mutex
	resolved map[string][]debian.Package
	// unlocked describes the packages that replace locked ones, by set.
	unlocked map[string]string
}

// sets returns the sets of the flavour.
func (p *Packages) sets() []set {
	return slices.DeleteFunc(all(), func(s set) bool {
		return s.flavour != "" && s.flavour != cmp.Or(p.Flavour, Cloud)
	})
}

// Of returns the packages of named sets, sorted by name.
func (p *Packages) Of(ctx context.Context, names ...string) ([]debian.Package, error) {
	var all []debian.Package

	for _, s := range p.sets() {
		if !slices.Contains(names, s.name) {
			continue
		}

		found, err := p.of(ctx, s)
		if err != nil {
			return nil, err
		}

		all = append(all, found...)
	}

	slices.SortFunc(all, func(a, b debian.Package) int { return cmp.Compare(a.Name, b.Name) })

	return slices.CompactFunc(all, func(a, b debian.Package) bool { return a.Name == b.Name }), nil
}

// of returns the packages of a set: those of the lock, or, if Debian no longer has one of them, the newest of the whole set, so
// that they match. The archive drops a version at the next security update or point release. A build of an old tree should not
// fail for that, so it uses other packages and prints a warning.
func (p *Packages) of(ctx context.Context, s set) ([]debian.Package, error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if found, ok := p.resolved[s.name]; ok {
		return found, nil
	}

	lock, err := readLock(p.Root)
	if err != nil {
		return nil, err
	}

	locked, err := lock.Select(s.packages)
	if err != nil {
		return nil, err
	}

	gone, err := debian.Gone(ctx, locked, filepath.Join(p.Cache, "debian"))
	if err != nil {
		return nil, err
	}

	found := locked

	if len(gone) > 0 {
		if found, err = p.replace(ctx, s, locked, gone); err != nil {
			return nil, err
		}
	}

	if p.resolved == nil {
		p.resolved = map[string][]debian.Package{}
	}

	p.resolved[s.name] = found

	return found, nil
}

func (p *Packages) replace(ctx context.Context, s set, locked, gone []debian.Package) ([]debian.Package, error) {
	const advice = "make lock takes the newest versions into build/debian.lock; commit that"

	if p.Strict {
		return nil, fmt.Errorf("Debian no longer has %s of the lock; %s", join(gone), advice)
	}

	if err := debian.CheckSources(p.Apt); err != nil {
		return nil, fmt.Errorf("Debian no longer has %s of the lock: %w", join(gone), err)
	}

	newest, err := debian.Resolve(ctx, s.packages)
	if err != nil {
		return nil, err
	}

	var taken []debian.Package

	for i, n := range newest {
		if n.String() != locked[i].String() || n.SHA256 != locked[i].SHA256 {
			taken = append(taken, n)
		}
	}

	if p.unlocked == nil {
		p.unlocked = map[string]string{}
	}

	p.unlocked[s.name] = fmt.Sprintf("%s: Debian no longer has %s; used: %s", s.name, join(gone), join(taken))

	return newest, nil
}

func join(packages []debian.Package) string {
	out := make([]string, 0, len(packages))
	for _, p := range packages {
		out = append(out, p.String())
	}

	return strings.Join(out, ", ")
}

// Report writes the packages that are not those of the lock to the log and to the output folder.
func (p *Packages) Report(out string, log io.Writer) error {
	p.mu.Lock()
	defer p.mu.Unlock()

	path := filepath.Join(out, unlockedFile)

	if len(p.unlocked) == 0 {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}

		return nil
	}

	var text strings.Builder

	for _, s := range p.sets() {
		if line, ok := p.unlocked[s.name]; ok {
			fmt.Fprintln(&text, line)
		}
	}

	fmt.Fprintf(log, "\nWARNING: these packages are not those of build/debian.lock, and other hosts may build other images from this tree:\n%s"+
		"To lock the newest versions: make lock. To reject such a build: make build LOCKED=1. This list: %s\n\n", text.String(), path)

	return errors.Join(os.MkdirAll(out, 0o755), os.WriteFile(path, []byte(text.String()), 0o644))
}
