// SPDX-License-Identifier: Apache-2.0

package module

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// ErrNotFound is the error for a name that is not a module, an alias or built in.
var ErrNotFound = errors.New("no such kernel module")

// Loader loads modules from one modules directory. It is safe for concurrent use; it reads the index when it is first needed.
type Loader struct {
	// Root is the modules directory, /lib/modules/RELEASE.
	Root string
	// Insert loads one module file into the kernel. Nil uses the system call; tests set it.
	Insert func(file, params string) error
	// Sysfs has the loaded modules; empty means /sys, or none if Insert is set.
	Sysfs string

	once  sync.Once
	index *Index
	err   error
}

// noLinks are parameters of modules that otherwise create links that are not configured: bond0, dummy0, ifb0 and ifb1. Distributions set
// them too (modprobe.d/systemd.conf of systemd).
var noLinks = map[string][]string{"bonding": {"max_bonds=0"}, "dummy": {"numdummies=0"}, "ifb": {"numifbs=0"}}

// NewLoader returns a loader of the running kernel's modules, which are in /lib/modules/RELEASE.
func NewLoader() (*Loader, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return nil, fmt.Errorf("uname: %w", err)
	}

	return &Loader{Root: filepath.Join("/lib/modules", unix.ByteSliceToString(u.Release[:]))}, nil
}

// Index returns the index of the modules directory.
func (l *Loader) Index() (*Index, error) {
	l.once.Do(func() { l.index, l.err = ReadIndex(l.Root) })

	return l.index, l.err
}

// Load loads a module by name or alias, after its dependencies. It is not an error if the module is already loaded or built in. The
// parameters, in the form name=value, are for the named module only.
func (l *Loader) Load(name string, params ...string) error {
	x, err := l.Index()
	if err != nil {
		return fmt.Errorf("load kernel module %s: %w", name, err)
	}

	targets := x.Resolve(name)
	if len(targets) == 0 {
		return fmt.Errorf("load kernel module %s: %w in %s", name, ErrNotFound, l.Root)
	}

	var errs []error

	for _, target := range targets {
		if err := l.load(x, target, params, map[string]bool{}); err != nil {
			errs = append(errs, fmt.Errorf("load kernel module %s: %w", name, err))
		}
	}

	return errors.Join(errs...)
}

// load walks the dependencies depth first; seen breaks cycles of soft dependencies.
func (l *Loader) load(x *Index, name string, params []string, seen map[string]bool) error {
	e, ok := x.modules[name]
	if !ok || seen[name] { // built in, or being loaded
		return nil
	}

	seen[name] = true

	if l.live(name) {
		return nil
	}

	l.loadSoft(x, e.Pre, seen)

	for i := len(e.Deps) - 1; i >= 0; i-- {
		dep := nameOf(e.Deps[i])

		if _, known := x.modules[dep]; !known && !x.builtin[dep] {
			return fmt.Errorf("%s needs %s, which is not in %s", e.Path, e.Deps[i], l.Root)
		}

		if err := l.load(x, dep, nil, seen); err != nil {
			return err
		}
	}

	insert := l.Insert
	if insert == nil {
		insert = insertFile
	}

	params = slices.Concat(noLinks[name], params) // of two values the kernel uses the last

	if err := insert(filepath.Join(l.Root, e.Path), strings.Join(params, " ")); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("insert %s: %w", e.Path, explain(err))
	}

	l.loadSoft(x, e.Post, seen)

	return nil
}

// live reports whether a module, and so all that it needs, is loaded. Loading it again would be correct too, but the kernel checks the
// signature of the file before it checks whether it has the module.
func (l *Loader) live(name string) bool {
	sysfs := l.Sysfs

	switch {
	case sysfs != "":
	case l.Insert != nil:
		return false
	default:
		sysfs = "/sys"
	}

	state, err := os.ReadFile(filepath.Join(sysfs, "module", name, "initstate"))

	return err == nil && strings.TrimSpace(string(state)) == "live"
}

// loadSoft loads the optional dependencies of a module; it ignores those that are missing or fail.
func (l *Loader) loadSoft(x *Index, names []string, seen map[string]bool) {
	for _, n := range names {
		for _, target := range x.Resolve(n) {
			_ = l.load(x, target, nil, seen)
		}
	}
}

// explain adds the usual cause to an error of the system call.
func explain(err error) error {
	switch {
	case errors.Is(err, unix.EKEYREJECTED):
		return fmt.Errorf("%w (the module is not signed with a key of this kernel)", err)
	case errors.Is(err, unix.ENOEXEC):
		return fmt.Errorf("%w (the module was built for another kernel, or is damaged)", err)
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("%w (the module is missing, or one of its symbols is)", err)
	case errors.Is(err, unix.EINVAL):
		return fmt.Errorf("%w (a parameter has a bad value)", err)
	default:
		return err
	}
}
