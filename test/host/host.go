// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package host tells what a run of tests has left on the machine that it ran on. A snapshot lists, as lines of text, what
// a test could change and forget: mounts, named namespaces, cgroups, loop devices, links, addresses, routes, the firewall
// and sysctls; the difference of two is what to clean up. Processes are not compared but owned: after Adopt, whatever a
// descendant of this process leaves behind becomes its child, so that processes of others are never taken for ours.
//
// What changes by itself, or belongs to somebody else by its name, is left out by rules that each give a reason (see
// rules.go); everything else counts. A machine on which others mount and configure at the same time shows their changes
// too, and the list is for people to judge then.
package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Snapshot is what there is, by kind: "mounts", "sysctls" and so on. Lines are sorted and unique within a kind. A kind that
// could not be looked at is missing.
type Snapshot map[string][]string

// othersCgroups is a kind that is not compared: it tells which cgroups, when they are empty later, were not made meanwhile.
const othersCgroups = "cgroups of others"

// readers list what there is of each kind.
var readers = map[string]func(context.Context) ([]string, error){
	"mounts":           mounts,
	"named namespaces": namedNamespaces,
	"cgroups":          cgroups,
	othersCgroups:      cgroupsOfOthers,
	"loop devices":     loopDevices,
	"links":            links,
	"addresses":        addresses,
	"routes":           routes,
	"iptables":         iptables,
	"nftables":         nftables,
	"sysctls":          sysctls,
}

// errUnseen is the error of a reader that has no means to look. What is there then, and is seen later, is not new.
var errUnseen = errors.New("cannot be looked at")

// Take reads what there is now.
func Take(ctx context.Context) (Snapshot, error) {
	s := Snapshot{}

	var errs []error

	for kind, read := range readers {
		lines, err := read(ctx)
		if errors.Is(err, errUnseen) {
			continue
		}

		if err != nil {
			errs = append(errs, fmt.Errorf("list %s of the host: %w", kind, err))
		}

		slices.Sort(lines)
		s[kind] = slices.Compact(lines)
	}

	return s, errors.Join(errs...)
}

// Diff is what differs, a line each: "mounts: new: …" or "mounts: gone: …".
func Diff(before, after Snapshot) []string {
	var all []string

	for _, kind := range slices.Sorted(maps.Keys(after)) {
		if _, seen := before[kind]; !seen || kind == othersCgroups {
			continue
		}

		before, after := before, after
		if kind == "sysctls" {
			before, after = bothHave(before, after, kind), bothHave(after, before, kind)
		}

		for _, line := range only(after[kind], before[kind]) {
			if kind != "cgroups" || !within(line, before[othersCgroups]) {
				all = append(all, kind+": new: "+line)
			}
		}

		if kind == "cgroups" { // one that is gone has been tidied up, by whom it belonged to
			continue
		}

		for _, line := range only(before[kind], after[kind]) {
			all = append(all, kind+": gone: "+line)
		}
	}

	return all
}

// within reports whether a folder is one of others or below one.
func within(dir string, others []string) bool {
	return slices.ContainsFunc(others, func(other string) bool { return dir == other || strings.HasPrefix(dir, other+"/") })
}

// bothHave are the settings of a that b has too, whatever their values: a setting comes with the module of the kernel that it
// belongs to, which stays loaded, and is nobody's change.
func bothHave(a, b Snapshot, kind string) Snapshot {
	known := map[string]bool{}

	for _, line := range b[kind] {
		name, _, _ := strings.Cut(line, " = ")
		known[name] = true
	}

	return Snapshot{kind: slices.DeleteFunc(slices.Clone(a[kind]), func(line string) bool {
		name, _, _ := strings.Cut(line, " = ")

		return !known[name]
	})}
}

// only are the lines of a that b lacks; both are sorted.
func only(a, b []string) []string {
	var lines []string

	for _, line := range a {
		if _, found := slices.BinarySearch(b, line); !found {
			lines = append(lines, line)
		}
	}

	return lines
}

// Settle returns what differs from a snapshot, and what processes are left, each all the time: what ends with a process is
// gone a moment later, and what others make for a moment is nobody's rest. It waits until nothing does, or the time is up.
func Settle(ctx context.Context, before Snapshot, patience time.Duration) ([]string, error) {
	return settle(ctx, patience, func() ([]string, error) {
		after, err := Take(ctx)
		if err != nil {
			return nil, err
		}

		left, err := Left()
		if err != nil {
			return nil, err
		}

		for i := range left {
			left[i] = "processes: new: " + left[i]
		}

		return append(left, Diff(before, after)...), nil
	})
}

// settle looks again and again, and returns what it saw each time.
func settle(ctx context.Context, patience time.Duration, look func() ([]string, error)) ([]string, error) {
	deadline := time.Now().Add(patience)

	different, err := look()

	for err == nil && len(different) > 0 && time.Now().Before(deadline) {
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return different, ctx.Err()
		}

		var now []string

		now, err = look()
		different = slices.DeleteFunc(different, func(line string) bool { return !slices.Contains(now, line) })
	}

	return different, err
}
