// SPDX-License-Identifier: Apache-2.0

// Package hosttools sees that the machine has the programs and headers that the build, the lab and the tests call, and
// installs what is missing from Debian's packages. The table of them is Tools: one for all, so that what is missing is
// found before the first step of a build, and not by an exec in the middle of a lab.
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
		//program:arg the name above, in another folder
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}

	return "", err
}

// Ensure installs what is missing for the uses, telling on out what and why. With everything there it does nothing.
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
			return fmt.Errorf("%s is not in PATH, and no package brings it: it is for %s", t.Name, t.For)
		}
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
		//program:optional without it the command is shown, for root to run
		if _, err := exec.LookPath("sudo"); err != nil {
			return fmt.Errorf("must be root for this, and there is no sudo; run as root: %s", strings.Join(args, " "))
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
