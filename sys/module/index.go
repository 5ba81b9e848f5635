// SPDX-License-Identifier: Apache-2.0

package module

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The text files of an index, in a modules directory.
const (
	fileDep            = "modules.dep"
	fileAlias          = "modules.alias"
	fileSoftdep        = "modules.softdep"
	fileBuiltin        = "modules.builtin"
	fileBuiltinModinfo = "modules.builtin.modinfo"
)

// Entry is one loadable module.
type Entry struct {
	// Path of the file, relative to the modules directory.
	Path string
	// Deps are the paths of the modules that it needs, in the order of modules.dep: the last is loaded first.
	Deps []string
	// Pre and Post are names or aliases to load before and after it; it is not an error if they are missing.
	Pre, Post []string
}

// Index has the modules of one kernel. Names are in their canonical form, with underscores.
type Index struct {
	modules map[string]Entry
	builtin map[string]bool
	aliases aliasTable
}

// ReadIndex reads the text files of a modules directory, such as /lib/modules/6.1.0-40-cloud-amd64. Only
// modules.dep must exist.
func ReadIndex(root string) (*Index, error) {
	x := &Index{modules: map[string]Entry{}, builtin: map[string]bool{}}

	for _, part := range []struct {
		file     string
		parse    func([]byte) error
		required bool
	}{
		{fileDep, x.parseDep, true},
		{fileSoftdep, x.parseSoftdep, false},
		{fileAlias, x.parseAlias, false},
		{fileBuiltin, x.parseBuiltin, false},
		{fileBuiltinModinfo, x.parseBuiltinModinfo, false},
	} {
		text, err := os.ReadFile(filepath.Join(root, part.file))
		if errors.Is(err, fs.ErrNotExist) && !part.required {
			continue
		}

		if err == nil {
			err = part.parse(text)
		}

		if err != nil {
			return nil, fmt.Errorf("kernel modules index %s: %w", filepath.Join(root, part.file), err)
		}
	}

	x.aliases.sort()

	return x, nil
}

// Modules returns the names of all loadable modules, sorted.
func (x *Index) Modules() []string { return slices.Sorted(maps.Keys(x.modules)) }

// Builtin returns the names of the modules that are part of the kernel, sorted.
func (x *Index) Builtin() []string { return slices.Sorted(maps.Keys(x.builtin)) }

// Resolve returns the modules of a name or alias, with built-in ones: the module of that name, else those with a matching alias. For an
// unknown name it returns none.
func (x *Index) Resolve(nameOrAlias string) []string {
	name := canonical(nameOrAlias)

	if _, ok := x.modules[name]; ok || x.builtin[name] {
		return []string{name}
	}

	return x.aliases.match(name)
}

// canonical returns the form of a name that the kernel uses, and in which aliases are compared.
func canonical(name string) string {
	if !strings.Contains(name, "-") {
		return name
	}

	var (
		b       strings.Builder
		bracket bool
	)

	for _, c := range []byte(name) {
		switch {
		case c == '[':
			bracket = true
		case c == ']':
			bracket = false
		case c == '-' && !bracket: // inside brackets it is a range of a pattern
			c = '_'
		}

		b.WriteByte(c)
	}

	return b.String()
}

// nameOf returns the module name of a path such as kernel/fs/xfs/xfs.ko.xz.
func nameOf(file string) string {
	base, _, _ := strings.Cut(path.Base(file), ".ko")

	return canonical(base)
}

func lines(text []byte) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		n := 0

		for line := range bytes.Lines(text) {
			n++

			s := strings.TrimSpace(string(line))
			if s == "" || s[0] == '#' {
				continue
			}

			if !yield(n, s) {
				return
			}
		}
	}
}

func (x *Index) parseDep(text []byte) error {
	for n, line := range lines(text) {
		file, deps, ok := strings.Cut(line, ":")
		if !ok || !strings.Contains(file, ".ko") {
			return fmt.Errorf("line %d: want `path.ko: dependencies`, got %q", n, line)
		}

		if !filepath.IsLocal(file) {
			return fmt.Errorf("line %d: path %q leaves the modules directory", n, file)
		}

		x.modules[nameOf(file)] = Entry{Path: file, Deps: strings.Fields(deps)}
	}

	return nil
}

func (x *Index) parseSoftdep(text []byte) error {
	for n, line := range lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "softdep" {
			return fmt.Errorf("line %d: want `softdep name pre: … post: …`, got %q", n, line)
		}

		if e, ok := x.modules[canonical(f[1])]; ok {
			e.addSoftdep(f[2:])
			x.modules[canonical(f[1])] = e
		}
	}

	return nil
}

func (e *Entry) addSoftdep(words []string) {
	list := &e.Pre

	for _, w := range words {
		switch w {
		case "pre:":
			list = &e.Pre
		case "post:":
			list = &e.Post
		default:
			*list = append(*list, w)
		}
	}
}

func (x *Index) parseAlias(text []byte) error {
	for n, line := range lines(text) {
		f := strings.Fields(line)
		if len(f) != 3 || f[0] != "alias" {
			return fmt.Errorf("line %d: want `alias pattern module`, got %q", n, line)
		}

		x.aliases.add(f[1], f[2])
	}

	return nil
}

func (x *Index) parseBuiltin(text []byte) error {
	for _, line := range lines(text) {
		x.builtin[nameOf(line)] = true
	}

	return nil
}

// parseBuiltinModinfo reads the aliases of built-in modules: `name.alias=pattern`, each ended by a NUL.
func (x *Index) parseBuiltinModinfo(text []byte) error {
	for field := range bytes.SplitSeq(text, []byte{0}) {
		key, value, ok := strings.Cut(string(field), "=")
		name, attr, dotted := strings.Cut(key, ".")

		if ok && dotted && attr == "alias" && value != "" {
			x.aliases.add(value, name)
		}
	}

	return nil
}
