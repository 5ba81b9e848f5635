// SPDX-License-Identifier: Apache-2.0

package module

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Scan computes the index of a modules directory from the modules themselves, as depmod does: what each
// says of itself in its ELF section .modinfo, and modules.builtin(.modinfo) of the kernel's build.
func Scan(root string) (*Index, error) {
	x := &Index{modules: map[string]Entry{}, builtin: map[string]bool{}}
	direct := map[string][]string{}

	for file, parse := range map[string]func([]byte) error{
		fileBuiltin: x.parseBuiltin, fileBuiltinModinfo: x.parseBuiltinModinfo,
	} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err == nil {
			err = parse(text)
		}

		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("scan kernel modules: %w", err)
		}
	}

	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !isModule(p) {
			return err
		}

		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}

		info, err := readModinfo(p)
		if err != nil {
			return err
		}

		e, name := Entry{Path: rel}, nameOf(rel)

		for _, kv := range info {
			switch kv[0] {
			case "depends":
				direct[name] = slices.DeleteFunc(strings.Split(canonical(kv[1]), ","), func(s string) bool { return s == "" })
			case "alias":
				x.aliases.add(kv[1], name)
			case "softdep":
				e.addSoftdep(strings.Fields(kv[1]))
			}
		}

		x.modules[name] = e

		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("scan kernel modules: %w", err)
	}

	for name, e := range x.modules {
		if e.Deps, err = x.closure(name, direct); err != nil {
			return nil, err
		}

		x.modules[name] = e
	}

	x.aliases.sort()

	return x, nil
}

func isModule(p string) bool {
	return strings.HasSuffix(p, ".ko") || strings.HasSuffix(p, ".ko.xz") || strings.HasSuffix(p, ".ko.zst")
}

// closure returns the paths of everything that a module needs, each before what it needs itself.
func (x *Index) closure(name string, direct map[string][]string) ([]string, error) {
	var (
		post    []string
		visit   func(string) error
		visited = map[string]bool{}
	)

	visit = func(n string) error {
		if visited[n] {
			return nil
		}

		visited[n] = true

		for _, d := range direct[n] {
			if x.builtin[d] {
				continue
			}

			if _, ok := x.modules[d]; !ok {
				return fmt.Errorf("kernel module %s depends on %s, which is not there", n, d)
			}

			if err := visit(d); err != nil {
				return err
			}
		}

		post = append(post, n)

		return nil
	}

	if err := visit(name); err != nil {
		return nil, err
	}

	deps := make([]string, 0, len(post)-1)
	for _, n := range slices.Backward(post[:len(post)-1]) {
		deps = append(deps, x.modules[n].Path)
	}

	return deps, nil
}

// readModinfo returns the key-value pairs of a module file, in their order.
func readModinfo(file string) ([][2]string, error) {
	raw, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer raw.Close()

	image, err := decompress(file, raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}

	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, fmt.Errorf("%s: not a kernel module: %w", file, err)
	}

	section := f.Section(".modinfo")
	if section == nil {
		return nil, fmt.Errorf("%s: not a kernel module: no .modinfo section", file)
	}

	data, err := section.Data()
	if err != nil {
		return nil, fmt.Errorf("%s: section .modinfo: %w", file, err)
	}

	var out [][2]string

	for field := range bytes.SplitSeq(data, []byte{0}) {
		if key, value, ok := strings.Cut(string(field), "="); ok {
			out = append(out, [2]string{key, value})
		}
	}

	return out, nil
}
