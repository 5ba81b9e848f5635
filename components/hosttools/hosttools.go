// SPDX-License-Identifier: Apache-2.0

// Package hosttools sees that the building machine has the programs that a build and a lab call, and installs what is
// missing from Debian's packages.
package hosttools

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Tool is something that must be on the machine, and the package that brings it.
type Tool struct {
	// Name is a program to be found in PATH or the system's sbin folders, or, beginning with a slash, a file.
	Name    string
	Package string
	For     string
}

// Tools are what a build and a lab need, besides Go.
var Tools = []Tool{
	{"make", "make", "the Makefile"},
	{"gcc", "gcc", "runc and pause"},
	{"/usr/include/stdio.h", "libc6-dev", "runc and pause"},
	{"/usr/include/seccomp.h", "libseccomp-dev", "runc"},
	{"pkg-config", "pkg-config", "runc"},
	{"objcopy", "binutils", "the unified kernel image"},
	{"depmod", "kmod", "the kernel modules"},
	{"mksquashfs", "squashfs-tools", "the root image"},
	{"mke2fs", "e2fsprogs", "the image cache's partition"},
	{"debugfs", "e2fsprogs", "the image cache's partition"},
	{"mkfs.vfat", "dosfstools", "the boot partition"},
	{"mcopy", "mtools", "the boot partition"},
	{"zstd", "zstd", "the initramfs"},
	{"xz", "xz-utils", "kernel modules"},
	{"ip", "iproute2", "network tests in namespaces"},
	{"qemu-system-x86_64", "qemu-system-x86", "the lab"},
}

// Missing returns the tools that are not on the machine. root is put before absolute paths; it is "" but in tests.
func Missing(root string, tools []Tool, lookPath func(string) (string, error)) []Tool {
	var missing []Tool

	for _, t := range tools {
		var err error

		if filepath.IsAbs(t.Name) {
			_, err = os.Stat(filepath.Join(root, t.Name))
		} else {
			_, err = lookPath(t.Name)
		}

		if err != nil {
			missing = append(missing, t)
		}
	}

	return missing
}

// LookPath finds a program in PATH, or in the folders for administration programs, which a user's PATH often lacks.
func LookPath(name string) (string, error) {
	found, err := exec.LookPath(name)
	if err == nil {
		return found, nil
	}

	for _, dir := range []string{"/usr/local/sbin", "/usr/sbin", "/sbin"} {
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}

	return "", err
}

// Ensure installs what is missing, telling on out what and why. With everything there it does nothing.
func Ensure(ctx context.Context, out io.Writer) error {
	missing := Missing("", Tools, LookPath)
	if len(missing) == 0 {
		return nil
	}

	for _, t := range missing {
		fmt.Fprintf(out, "missing: %s (package %s), for %s\n", t.Name, t.Package, t.For)
	}

	packages := Packages(missing)
	install := append([]string{"apt-get", "install", "-y", "--no-install-recommends"}, packages...)

	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("this machine has no apt-get; install by its own means what Debian has in %s", strings.Join(packages, ", "))
	}

	if err := Refresh(ctx, out); err != nil {
		return err
	}

	if err := asRoot(ctx, out, install...); err != nil {
		return err
	}

	if still := Missing("", missing, LookPath); len(still) > 0 {
		return fmt.Errorf("package %s is installed but %s is still not there", still[0].Package, still[0].Name)
	}

	return nil
}

// Packages returns the packages of the tools, each once, sorted.
func Packages(tools []Tool) []string {
	var names []string
	for _, t := range tools {
		names = append(names, t.Package)
	}

	slices.Sort(names)

	return slices.Compact(names)
}

// fresh is how old apt's lists may be before they are fetched anew: an older list names files that the mirrors dropped.
const fresh = 7 * 24 * time.Hour

// Refresh fetches apt's package lists if there are none or they are old.
func Refresh(ctx context.Context, out io.Writer) error {
	if listsFresh("/var/lib/apt/lists", time.Now()) {
		return nil
	}

	fmt.Fprintln(out, "apt's package lists are missing or old")

	return Update(ctx, out)
}

// Update fetches apt's package lists.
func Update(ctx context.Context, out io.Writer) error {
	return asRoot(ctx, out, "apt-get", "update", "-q")
}

// listsFresh reports whether dir holds package lists that were fetched lately. apt gives a list the time at which the
// archive made it, so the folder's own time, which each update sets, is what tells.
func listsFresh(dir string, now time.Time) bool {
	lists, err := filepath.Glob(filepath.Join(dir, "*_Packages*"))
	if err != nil || len(lists) == 0 {
		return false
	}

	newest := time.Time{}

	for _, place := range []string{dir, filepath.Join(dir, "partial")} {
		if info, err := os.Stat(place); err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}

	return now.Sub(newest) < fresh
}

// asRoot runs a command, through sudo when we are not root.
func asRoot(ctx context.Context, out io.Writer, args ...string) error {
	if os.Geteuid() != 0 {
		if _, err := exec.LookPath("sudo"); err != nil {
			return fmt.Errorf("must be root for this, and there is no sudo; run as root: %s", strings.Join(args, " "))
		}

		args = append([]string{"sudo", "--preserve-env=DEBIAN_FRONTEND"}, args...)
	}

	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	cmd.Stdin = os.Stdin // sudo asks for a password

	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said

	fmt.Fprintln(out, "running:", strings.Join(args, " "))

	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, tail(said.String(), 20))
	}

	return nil
}

func tail(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")

	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
