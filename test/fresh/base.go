// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/seed-59268b81/talos/build/hosttools"
)

// suite is the release of Debian that README promises.
const suite = "bookworm"

// bare is what the machine has besides the packages that every Debian has. README names make and Go; a clone needs git,
// which needs the certificates of its servers.
const bare = "make,git,ca-certificates"

// cachedBase is the folder in the build cache that keeps the bare Debian.
const cachedBase = "fresh"

// source is one line of apt's sources.
type source struct{ url, suite, component string }

// base returns the folder with the bare Debian, and creates it if it is not in the cache, which exists.
func base(ctx context.Context, cache string) (dir string, made bool, err error) {
	dir = filepath.Join(cache, strings.ReplaceAll(suite+","+bare, ",", "+"))
	if _, err := os.Stat(dir); err == nil {
		return dir, false, nil
	}

	// Remove the leftovers of a killed run.
	old, err := filepath.Glob(filepath.Join(cache, "new-*"))
	for _, o := range old {
		err = errors.Join(err, os.RemoveAll(o))
	}

	if err != nil {
		return "", false, err
	}

	scratch, err := os.MkdirTemp(cache, "new-")
	if err != nil {
		return "", false, err
	}

	if err := debootstrap(ctx, scratch); err != nil {
		return "", false, errors.Join(err, os.RemoveAll(scratch))
	}

	// The packages are unpacked. Their archives would give the fresh machine a package cache.
	debs, err := filepath.Glob(filepath.Join(scratch, "var/cache/apt/archives/*.deb"))
	for _, deb := range debs {
		err = errors.Join(err, os.Remove(deb))
	}

	if err := cmp.Or(err, os.Chmod(scratch, 0o755)); err != nil {
		return "", false, errors.Join(err, os.RemoveAll(scratch))
	}

	return dir, true, os.Rename(scratch, dir)
}

// debootstrap fills a folder. It runs in a mount namespace of its own, since it mounts /proc there.
func debootstrap(ctx context.Context, dir string) error {
	path, err := hosttools.LookPath("debootstrap")
	if err != nil {
		return fmt.Errorf("%w: %s", err, hosttools.Hint("debootstrap"))
	}

	args := []string{"--variant=minbase", "--include=" + bare, suite, dir}

	sources, err := hostSources(ctx)
	if err != nil {
		return err
	}

	// Without a source, debootstrap uses Debian's own.
	for _, s := range sources {
		if s.suite == suite {
			args = append(args, s.url)

			break
		}
	}

	cmd := exec.CommandContext(ctx, path, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

	if out, err := cmd.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")

		return fmt.Errorf("create a bare Debian with debootstrap: %w\n%s", err, strings.Join(lines[max(0, len(lines)-20):], "\n"))
	}

	return nil
}

// hostSources returns apt's sources of the host that are Debian's: a fresh machine has no others.
func hostSources(ctx context.Context) ([]source, error) {
	// indextargets reads all of apt's files, in both of their formats.
	out, err := exec.CommandContext(ctx, "apt-get", "indextargets", "--format", "$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages").Output()
	if err != nil {
		return nil, fmt.Errorf("read apt's sources: %w", err)
	}

	return debianSources(string(out)), nil
}

// debianSources reads lines of origin, address, suite and component.
func debianSources(text string) []source {
	var all []source

	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) != 4 || words[0] != "Debian" || !strings.HasPrefix(words[2], suite) {
			continue
		}

		all = append(all, source{words[1], words[2], words[3]})
	}

	slices.SortFunc(all, func(a, b source) int {
		return cmp.Or(strings.Compare(a.suite, b.suite), strings.Compare(a.url, b.url), strings.Compare(a.component, b.component))
	})

	return slices.Compact(all)
}

// aptFiles returns the files with which apt reaches the same sources as on the host. On a host that is not Debian 12 there
// is no list of sources, and the fresh machine keeps that of debootstrap.
func aptFiles(ctx context.Context) (map[string][]byte, error) {
	sources, err := hostSources(ctx)
	if err != nil {
		return nil, err
	}

	files := map[string][]byte{}

	var list bytes.Buffer
	for _, s := range sources {
		fmt.Fprintf(&list, "deb %s %s %s\n", s.url, s.suite, s.component)
	}

	if list.Len() > 0 {
		files["etc/apt/sources.list"] = list.Bytes()
	}

	settings, err := exec.CommandContext(ctx, "apt-config", "dump").Output()
	if err != nil {
		return nil, fmt.Errorf("read apt's settings: %w", err)
	}

	files["etc/apt/apt.conf.d/90host"] = acquireSettings(string(settings))

	return files, nil
}

// acquireSettings returns the settings for the network: proxies and certificates.
func acquireSettings(dump string) []byte {
	var kept bytes.Buffer

	for line := range strings.Lines(dump) {
		lower := strings.ToLower(line)
		if strings.HasPrefix(lower, "acquire::http") && !strings.HasSuffix(strings.TrimSpace(line), ` "";`) && !strings.Contains(lower, "auto-detect") {
			kept.WriteString(line)
		}
	}

	return kept.Bytes()
}
