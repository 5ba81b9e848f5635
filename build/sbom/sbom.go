// SPDX-License-Identifier: Apache-2.0

// Package sbom lists the software in the root image: the modules in its Go programs, as the compiler has recorded them, and the packages of
// Debian, as they are locked. So the list has what was built and nothing that was written by hand. Licenses are not known from either.
package sbom

import (
	"cmp"
	"debug/buildinfo"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/build/debian"
	"github.com/seed-59268b81/talos/sys/spdx"
)

// Of returns the software of a tree and of Debian's packages, sorted. system is the version of this system's own programs.
func Of(tree, system string, packages []debian.Package) ([]spdx.Package, error) {
	all := Debian(packages)

	err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		info, err := d.Info()
		if err != nil || !d.Type().IsRegular() || info.Mode()&0o111 == 0 {
			return err
		}

		// A file that is not a Go program has no modules.
		if build, err := buildinfo.ReadFile(path); err == nil {
			all = append(all, modules(build, system)...)
		}

		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the software of the root image: %w", err)
	}

	order := func(a, b spdx.Package) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version), slices.Compare(a.PURLs, b.PURLs))
	}

	slices.SortFunc(all, order)

	return slices.CompactFunc(all, func(a, b spdx.Package) bool { return order(a, b) == 0 }), nil
}

// ours is the module of this system.
const ours = "github.com/seed-59268b81/talos"

// modules returns the modules of a Go program, with its standard library.
func modules(build *debug.BuildInfo, system string) []spdx.Package {
	version := strings.TrimPrefix(build.GoVersion, "go")
	out := []spdx.Package{{
		Name: "stdlib", Version: version, License: "BSD-3-Clause", PURLs: []string{"pkg:golang/stdlib@" + version},
		CPEs: []string{"cpe:2.3:a:golang:go:" + version + ":*:*:*:*:*:*:*"},
	}}

	for _, m := range append([]*debug.Module{&build.Main}, build.Deps...) {
		if m.Replace != nil {
			m = m.Replace
		}

		switch {
		case m.Path == ours:
			out = append(out, spdx.Package{Name: m.Path, Version: system, License: "Apache-2.0", PURLs: []string{"pkg:golang/" + m.Path + "@" + system}})
		case m.Path != "" && m.Version != "" && m.Version != "(devel)":
			out = append(out, spdx.Package{Name: m.Path, Version: m.Version, PURLs: []string{"pkg:golang/" + m.Path + "@" + url.PathEscape(m.Version)}})
		}
	}

	return out
}

// Debian returns the software of Debian's packages.
func Debian(packages []debian.Package) []spdx.Package {
	var out []spdx.Package

	for _, p := range packages {
		out = append(out, spdx.Package{
			Name: p.Name, Version: p.Version, SHA256: p.SHA256,
			PURLs: []string{"pkg:deb/debian/" + strings.ReplaceAll(p.Name, "+", "%2B") + "@" + strings.ReplaceAll(url.PathEscape(p.Version), "+", "%2B") + "?arch=amd64&distro=debian-12"},
		})
	}

	return out
}
