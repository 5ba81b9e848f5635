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

// bare is what the machine has besides the packages that every Debian has: README says make and Go, and a clone takes git,
// which takes the certificates of its servers.
const bare = "make,git,ca-certificates"

// cachedBase is the folder in the build cache that keeps it.
const cachedBase = "fresh"

// source is one line of apt's sources: where the host has a suite from.
type source struct{ url, suite, component string }

// base returns the folder with the bare Debian, and makes it if it is not in the cache, which exists.
func base(ctx context.Context, cache string) (dir string, made bool, err error) {
	dir = filepath.Join(cache, strings.ReplaceAll(suite+","+bare, ",", "+"))
	if _, err := os.Stat(dir); err == nil {
		return dir, false, nil
	}

	// What a run left that was killed.
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

	// The packages are unpacked; with them the fresh machine would have a cache of its own.
	debs, err := filepath.Glob(filepath.Join(scratch, "var/cache/apt/archives/*.deb"))
	for _, deb := range debs {
		err = errors.Join(err, os.Remove(deb))
	}

	if err := cmp.Or(err, os.Chmod(scratch, 0o755)); err != nil {
		return "", false, errors.Join(err, os.RemoveAll(scratch))
	}

	return dir, true, os.Rename(scratch, dir)
}

// debootstrap fills a folder, in a mount namespace of its own: it mounts /proc there.
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

	// Without one, debootstrap knows Debian's own.
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

		return fmt.Errorf("make a bare Debian with debootstrap: %w\n%s", err, strings.Join(lines[max(0, len(lines)-20):], "\n"))
	}

	return nil
}

// hostSources are Debian's among apt's sources of the host: other archives are no part of a fresh machine.
func hostSources(ctx context.Context) ([]source, error) {
	// The targets are what apt makes of all its files, in both of their formats.
	out, err := exec.CommandContext(ctx, "apt-get", "indextargets", "--format", "$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages").Output()
	if err != nil {
		return nil, fmt.Errorf("ask apt for its sources: %w", err)
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

// aptFiles are the files that let apt reach what it reaches on the host; none where the host is no Debian 12, whose fresh
// machine has what debootstrap has put there.
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
		return nil, fmt.Errorf("ask apt for its settings: %w", err)
	}

	files["etc/apt/apt.conf.d/90host"] = acquireSettings(string(settings))

	return files, nil
}

// acquireSettings are those for the ways over the network: proxies and certificates.
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
