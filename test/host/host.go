// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package host finds what a run of tests has left on the machine that it ran on. A snapshot lists, as lines of text, what
// a test could change and forget: mounts, named namespaces, cgroups, loop devices, links, addresses, routes, the firewall
// and sysctls. The difference of two snapshots is what to clean up. Processes are not compared: after Adopt, a process
// that a descendant of this process leaves behind becomes its child, so that processes of others are never counted.
//
// Rules, each with a reason, leave out what changes by itself or has the name of another program's (see rules.go);
// everything else counts. When others mount and configure on the machine at the same time, their changes are listed too,
// and a person has to judge the list.
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

// Snapshot is the state of the machine, by kind: "mounts", "sysctls" and so on. Lines are sorted and unique within a kind.
// A kind that could not be read is missing.
type Snapshot map[string][]string

// othersCgroups is a kind that is not compared. Its cgroups may be empty later, and still are not new.
const othersCgroups = "cgroups of others"

// readers list the lines of each kind.
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

// errUnseen is the error of a reader that cannot read its kind. The kind is then not compared.
var errUnseen = errors.New("cannot be read")

// Take takes a snapshot.
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

// Diff returns the differences, one a line: "mounts: new: …" or "mounts: gone: …".
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

		if kind == "cgroups" { // its owner has removed a cgroup that is gone
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

// bothHave returns the settings of a that b has too, with any value. A setting appears when its kernel module is loaded,
// which is not a change by a test.
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

// only returns the lines of a that b lacks; both are sorted.
func only(a, b []string) []string {
	var lines []string

	for _, line := range a {
		if _, found := slices.BinarySearch(b, line); !found {
			lines = append(lines, line)
		}
	}

	return lines
}

// Settle returns the differences from a snapshot and the processes that are left. It looks until nothing is left or its
// time is over, and returns only what it saw each time: what ends with a process disappears a moment later, and
// short-lived changes of others do not count.
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

// settle looks repeatedly, and returns what it saw each time.
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
