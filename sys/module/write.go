// SPDX-License-Identifier: Apache-2.0

package module

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Write writes modules.dep, modules.alias and modules.softdep into a modules directory, sorted, so that
// equal modules give equal bytes.
func (x *Index) Write(root string) error {
	var dep, soft, alias strings.Builder

	for _, name := range x.Modules() {
		e := x.modules[name]

		fmt.Fprintf(&dep, "%s:", e.Path)

		for _, d := range e.Deps {
			dep.WriteString(" " + d)
		}

		dep.WriteByte('\n')

		if len(e.Pre)+len(e.Post) > 0 {
			fmt.Fprintf(&soft, "softdep %s", name)

			for _, list := range []struct {
				word  string
				names []string
			}{{"pre:", e.Pre}, {"post:", e.Post}} {
				if len(list.names) > 0 {
					fmt.Fprintf(&soft, " %s %s", list.word, strings.Join(list.names, " "))
				}
			}

			soft.WriteByte('\n')
		}
	}

	for _, a := range x.aliases.sorted() {
		if _, loadable := x.modules[a.module]; loadable {
			fmt.Fprintf(&alias, "alias %s %s\n", a.pattern, a.module)
		}
	}

	for _, f := range []struct {
		name string
		text string
	}{{fileDep, dep.String()}, {fileAlias, alias.String()}, {fileSoftdep, soft.String()}} {
		if err := os.WriteFile(filepath.Join(root, f.name), []byte(f.text), 0o644); err != nil {
			return fmt.Errorf("write kernel modules index: %w", err)
		}
	}

	return nil
}

// Closure returns the files, relative to the modules directory, that loading the names would insert, in
// order and each once: what an initramfs must hold. An unknown name is an error; a built-in one adds none.
func (x *Index) Closure(names ...string) ([]string, error) {
	l := &Loader{}

	var files []string

	l.Insert = func(file, _ string) error {
		if !slices.Contains(files, file) {
			files = append(files, file)
		}

		return nil
	}

	for _, n := range names {
		targets := x.Resolve(n)
		if len(targets) == 0 {
			return nil, fmt.Errorf("%s: %w", n, ErrNotFound)
		}

		for _, target := range targets {
			if err := l.load(x, target, nil, map[string]bool{}); err != nil {
				return nil, err
			}
		}
	}

	return files, nil
}

func (t *aliasTable) sorted() []alias {
	var all []alias
	for _, list := range t.byPrefix {
		all = append(all, list...)
	}

	slices.SortFunc(all, func(a, b alias) int {
		return strings.Compare(a.pattern+" "+a.module, b.pattern+" "+b.module)
	})

	return slices.Compact(all)
}
