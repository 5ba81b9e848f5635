// SPDX-License-Identifier: Apache-2.0

// Package hosttools checks that the host has the programs and headers that the build, the lab and the tests need, and
// installs missing ones from Debian's packages. Tools is the one table of them, so that missing programs are found before
// the first step of a build and not while a lab runs.
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

// Missing returns the tools that are not installed. root is the prefix of absolute paths, "" except in tests.
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

// LookPath finds a program in PATH or in the sbin folders, which a user's PATH often lacks.
func LookPath(name string) (string, error) {
	found, err := exec.LookPath(name)
	if err == nil {
		return found, nil
	}

	for _, dir := range []string{"/usr/local/sbin", "/usr/sbin", "/sbin"} {
		//program:arg the name above, in another folder
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}

	return "", err
}

// Ensure installs the missing tools for the uses, and prints them and their purpose to out.
func Ensure(ctx context.Context, out io.Writer, uses ...Use) error {
	missing := Missing("", ForUse(uses...), LookPath)
	if len(missing) == 0 {
		return nil
	}

	for _, t := range missing {
		fmt.Fprintf(out, "missing: %s (package %s), for %s\n", t.Name, t.Package, t.For)
	}

	for _, t := range missing {
		if t.Package == "" {
			return fmt.Errorf("%s is not in PATH, and Debian has no package of it; it is for %s", t.Name, t.For)
		}
	}

	packages := Packages(missing)
	install := append([]string{"apt-get", "install", "-y", "--no-install-recommends"}, packages...)

	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("apt-get is not installed: install the programs of these Debian packages by other means: %s", strings.Join(packages, ", "))
	}

	if err := Refresh(ctx, out); err != nil {
		return err
	}

	if err := asRoot(ctx, out, install...); err != nil {
		return err
	}

	if still := Missing("", missing, LookPath); len(still) > 0 {
		return fmt.Errorf("package %s is installed, but %s is still missing", still[0].Package, still[0].Name)
	}

	return nil
}

// Packages returns the packages of the tools, sorted and without duplicates.
func Packages(tools []Tool) []string {
	var names []string
	for _, t := range tools {
		names = append(names, t.Package)
	}

	slices.Sort(names)

	return slices.Compact(names)
}

// fresh is the maximum age of apt's lists. Mirrors may no longer have the files in older lists.
const fresh = 7 * 24 * time.Hour

// Refresh fetches apt's package lists if they are missing or old.
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

// listsFresh reports whether the package lists in dir are recent. It checks the time of the folder, which each update sets: the
// time of a list is the time when the archive created it.
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

// asRoot runs a command as root, with sudo if necessary.
func asRoot(ctx context.Context, out io.Writer, args ...string) error {
	if os.Geteuid() != 0 {
		//program:optional without it the command is printed, for root to run
		if _, err := exec.LookPath("sudo"); err != nil {
			return fmt.Errorf("this needs root, and sudo is not installed: run as root: %s", strings.Join(args, " "))
		}

		args = append([]string{"sudo", "--preserve-env=DEBIAN_FRONTEND"}, args...)
	}

	//program:apt-get,optional through sudo where this is not root
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
