// SPDX-License-Identifier: Apache-2.0

// Package debian takes files out of Debian packages, without root and without installing anything.
//
// What is not a Go program comes from the packages of one release of Debian, which the building machine must follow. A Lock in the
// repository says which version, and the hash of its file, which is checked whenever it is unpacked, wherever it came from; apt
// fetches it; dpkg-deb unpacks it. From the unpacked files
// a Selection takes the programs asked for and, by reading their ELF headers, just the shared libraries that they need.
//
// Packages are listed by hand, libraries too, instead of by following Depends: a program that we use for one purpose
// depends on much that this purpose never touches (xfsprogs on Python, util-linux on PAM). A library whose package is
// not listed is an error which names it.
package debian

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// release is Debian 12, with its security updates. The kernel, what it loads and the libraries belong together: packages of
// another release that the machine follows too are not taken, however new they are.
const release = "APT::Default-Release=/^bookworm(|-security|-updates)$/"

// Package is one version of one binary package.
type Package struct {
	Name    string
	Version string
	// SHA256 is that of the .deb file.
	SHA256 string
	// Depends is the field of this name, as it is.
	Depends string
}

// String is name=version, which apt-get takes as an argument.
func (p Package) String() string { return p.Name + "=" + p.Version }

// file is where the package is kept in a folder. apt's own file name has the version; ours has the hash, so that another build of
// the same version is never taken for it.
func (p Package) file(dir string) string {
	return filepath.Join(dir, fmt.Sprintf("%s_%.16s.deb", p.Name, p.SHA256))
}

// check reports whether a file is the package.
func (p Package) check(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()

	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}

	if got := hex.EncodeToString(h.Sum(nil)); got != p.SHA256 {
		return fmt.Errorf("debian: %s: the file has SHA-256 %s, want %s", p, got, p.SHA256)
	}

	return nil
}

// Resolve finds the current version of each package named, in the order of the names. A name that ends in * stands for
// the one dependency of the package before it that begins so: a metapackage names this way the current kernel.
func Resolve(ctx context.Context, names []string) ([]Package, error) {
	var packages []Package

	for i, name := range names {
		prefix, wild := strings.CutSuffix(name, "*")
		if !wild {
			continue
		}

		if i == 0 {
			return nil, fmt.Errorf("debian: %s has no package before it to depend on it", name)
		}

		meta, err := show(ctx, names[i-1])
		if err != nil {
			return nil, err
		}

		full, err := dependency(meta[0].Depends, prefix)
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

// dependency returns the one name in a Depends field that begins with prefix.
func dependency(depends, prefix string) (string, error) {
	var found []string

	for term := range strings.SplitSeq(depends, ",") {
		if fields := strings.Fields(term); len(fields) > 0 && strings.HasPrefix(fields[0], prefix) {
			found = append(found, fields[0])
		}
	}

	if len(found) != 1 {
		return "", fmt.Errorf("want one dependency %s*, got %d in %q", prefix, len(found), depends)
	}

	return found[0], nil
}

// show asks apt for the candidate version of each package. Unknown names are left out.
func show(ctx context.Context, names ...string) ([]Package, error) {
	cmd := exec.CommandContext(ctx, "apt-cache", append([]string{"-o", release, "show", "--no-all-versions", "--"}, names...)...)

	var stderr bytes.Buffer
	cmd.Stderr = &stderr

	// apt-cache fails when one name of many is unknown, and prints the others: which those are says more than its code.
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

// parseStanzas reads the output of apt-cache show. Of two stanzas of one package the first counts.
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

// Fetch downloads packages into dir, those that are not there yet, and returns the files' paths in the same order. Each file has
// the hash of its package, or is an error; one in dir that has another is fetched again.
func Fetch(ctx context.Context, packages []Package, dir string) ([]string, error) {
	return fetch(ctx, packages, dir, download)
}

// download has apt fetch packages, name=version, into a folder.
func download(ctx context.Context, dir string, packages []string) error {
	// apt's sandbox user cannot write into a folder of ours.
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
			return nil, fmt.Errorf("debian: apt-get download left %d files of %s, want 1", len(debs), p)
		}

		if err := p.check(debs[0]); err != nil {
			return nil, fmt.Errorf("%w: the archive's file is another than the one that was locked", err)
		}

		if err := os.Rename(debs[0], paths[i]); err != nil {
			return nil, err
		}
	}

	return paths, nil
}

// Unpack extracts a .deb file into dir, beside what is there.
func Unpack(ctx context.Context, deb, dir string) error {
	if out, err := exec.CommandContext(ctx, "dpkg-deb", "-x", deb, dir).CombinedOutput(); err != nil {
		return fmt.Errorf("debian: dpkg-deb -x %s: %w\n%s", filepath.Base(deb), err, out)
	}

	return nil
}
