// SPDX-License-Identifier: Apache-2.0

// Package debian extracts files from Debian packages, without root and without installing them.
//
// Everything that is not a Go program comes from packages of one Debian release, which must be in the apt sources of the build
// host. A Lock in the repository has the version of each package and the hash of its file. apt downloads the package, dpkg-deb
// unpacks it, and the hash is checked each time. From the unpacked files, a Selection takes the requested programs and the shared
// libraries in their ELF headers.
//
// The packages are listed by hand, those of libraries too. The package does not follow Depends, because programs depend on much
// that we do not use (xfsprogs on Python, util-linux on PAM). If the package of a library is not listed, the error names the library.
package debian

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// release is Debian 12, with its security updates. Packages must be of one release, so that the kernel, its modules and the
// libraries match: newer packages of other releases in the apt sources are ignored.
const release = "APT::Default-Release=/^bookworm(|-security|-updates)$/"

// Package is one version of a binary package.
type Package struct {
	Name    string
	Version string
	// SHA256 is the hash of the .deb file.
	SHA256 string
	// Depends is the unparsed field.
	Depends string
}

// String returns name=version, an argument of apt-get.
func (p Package) String() string { return p.Name + "=" + p.Version }

// file returns the path of the package in a folder. apt's file name has the version. Ours has the hash, so that it differs for
// another build of the same version.
func (p Package) file(dir string) string {
	return filepath.Join(dir, fmt.Sprintf("%s_%.16s.deb", p.Name, p.SHA256))
}

// check returns an error if a file is not the package.
func (p Package) check(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}

	if got := fmt.Sprintf("%x", sha256.Sum256(raw)); got != p.SHA256 {
		return fmt.Errorf("debian: %s: the file has SHA-256 %s, want %s", p, got, p.SHA256)
	}

	return nil
}

// matches reports whether a name is that of a pattern. A * at its end stands for any text, and one before other text for digits, dots and
// hyphens: linux-image-6*-amd64 is not linux-image-6.1.0-56-cloud-amd64.
func matches(pattern, name string) bool {
	before, after, wild := strings.Cut(pattern, "*")
	if !wild {
		return name == pattern
	}

	rest, ok := strings.CutPrefix(name, before)
	if !ok || after == "" {
		return ok
	}

	number, ok := strings.CutSuffix(rest, after)

	return ok && strings.Trim(number, "0123456789.-") == ""
}

// Resolve returns the current version of each named package, in the order of the names. A name with a * (matches) means the one
// dependency of the package before that it stands for. This finds the current kernel by its metapackage.
func Resolve(ctx context.Context, names []string) ([]Package, error) {
	var packages []Package

	for i, name := range names {
		if !strings.Contains(name, "*") {
			continue
		}

		if i == 0 {
			return nil, fmt.Errorf("debian: %s: no package before it depends on it", name)
		}

		meta, err := show(ctx, names[i-1])
		if err != nil {
			return nil, err
		}

		full, err := dependency(meta[0].Depends, name)
		if err != nil {
			return nil, fmt.Errorf("debian: package %s: %w", names[i-1], err)
		}

		names = slices.Clone(names)
		names[i] = full
	}

	found, err := show(ctx, names...)
	if err != nil {
		return nil, err
	}

	var missing []string

	for _, name := range names {
		if i := slices.IndexFunc(found, func(p Package) bool { return p.Name == name }); i >= 0 {
			packages = append(packages, found[i])
		} else {
			missing = append(missing, name)
		}
	}

	if len(missing) > 0 {
		return nil, fmt.Errorf("debian: no package %s in apt's lists; run apt-get update, and see that the machine follows Debian 12",
			strings.Join(missing, ", "))
	}

	return packages, nil
}

// dependency returns the one name in a Depends field that a pattern stands for.
func dependency(depends, pattern string) (string, error) {
	var found []string

	for term := range strings.SplitSeq(depends, ",") {
		if fields := strings.Fields(term); len(fields) > 0 && matches(pattern, fields[0]) {
			found = append(found, fields[0])
		}
	}

	if len(found) != 1 {
		return "", fmt.Errorf("want one dependency %s, got %d in %q", pattern, len(found), depends)
	}

	return found[0], nil
}

// show returns apt's candidate version of each package. It omits unknown names.
func show(ctx context.Context, names ...string) ([]Package, error) {
	cmd := exec.CommandContext(ctx, "apt-cache", append([]string{"-o", release, "show", "--no-all-versions", "--"}, names...)...)

	var stderr bytes.Buffer
	cmd.Stderr = &stderr

	// apt-cache fails if one of many names is unknown, but prints the others. So its exit code does not matter.
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return nil, fmt.Errorf("debian: %w", err)
	}

	found := parseStanzas(out)
	if len(found) == 0 {
		return nil, fmt.Errorf("debian: apt-cache show %s: %s; run apt-get update, and see that the machine follows Debian 12",
			strings.Join(names, " "), strings.TrimSpace(stderr.String()))
	}

	return found, nil
}

// parseStanzas parses the output of apt-cache show. If there are two stanzas of one package, it returns the first.
func parseStanzas(raw []byte) []Package {
	var packages []Package

	for text := textproto.NewReader(bufio.NewReader(bytes.NewReader(raw))); ; {
		fields, err := text.ReadMIMEHeader()

		p := Package{Name: fields.Get("Package"), Version: fields.Get("Version"), SHA256: fields.Get("SHA256"), Depends: fields.Get("Depends")}
		if p.Name != "" && !slices.ContainsFunc(packages, func(other Package) bool { return other.Name == p.Name }) {
			packages = append(packages, p)
		}

		if err != nil {
			return packages
		}
	}
}

// Fetch downloads the packages that dir lacks, and returns the paths of all in the same order. It checks the hash of each file, and
// downloads a file in dir with a wrong hash again.
func Fetch(ctx context.Context, packages []Package, dir string) ([]string, error) {
	return fetch(ctx, packages, dir, download)
}

// download downloads packages, given as name=version, into a folder with apt.
func download(ctx context.Context, dir string, packages []string) error {
	// apt's sandbox user cannot write into our folder.
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"-o", "APT::Sandbox::User=root", "download", "--"}, packages...)...)
	cmd.Dir = dir

	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("debian: apt-get download: %w\n%s\nif the archive no longer has a version, apt's lists are old: run apt-get update",
			err, bytes.TrimSpace(out))
	}

	return nil
}

func fetch(ctx context.Context, packages []Package, dir string, download func(ctx context.Context, dir string, packages []string) error) ([]string, error) {
	var paths, missing []string

	for _, p := range packages {
		path := p.file(dir)
		paths = append(paths, path)

		if p.check(path) != nil {
			missing = append(missing, p.String())
		}
	}

	if len(missing) == 0 {
		return paths, nil
	}

	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}

	tmp, err := os.MkdirTemp(dir, "fetch-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)

	if err := download(ctx, tmp, missing); err != nil {
		return nil, err
	}

	for i, p := range packages {
		if !slices.Contains(missing, p.String()) {
			continue
		}

		debs, err := filepath.Glob(filepath.Join(tmp, p.Name+"_*.deb"))
		if err != nil || len(debs) != 1 {
			return nil, fmt.Errorf("debian: apt-get download: got %d files of %s, want 1", len(debs), p)
		}

		if err := p.check(debs[0]); err != nil {
			return nil, fmt.Errorf("%w: the archive has another file than the lock", err)
		}

		if err := os.Rename(debs[0], paths[i]); err != nil {
			return nil, err
		}
	}

	return paths, nil
}

// Unpack extracts a .deb file into dir, which may have other files.
func Unpack(ctx context.Context, deb, dir string) error {
	if out, err := exec.CommandContext(ctx, "dpkg-deb", "-x", deb, dir).CombinedOutput(); err != nil {
		return fmt.Errorf("debian: dpkg-deb -x %s: %w\n%s", filepath.Base(deb), err, out)
	}

	return nil
}
