// SPDX-License-Identifier: Apache-2.0

package cositest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// life is one version of a resource, in one life of it.
type life struct {
	version uint64
	created time.Time
}

// Quiet waits until nothing that the controllers read or write has changed for a while, and fails when it never comes to
// that: controllers that have done their work do not write any more.
func (e *Environment) Quiet(while time.Duration) {
	e.t.Helper()

	last := e.snapshot()

	for deadline := time.Now().Add(e.patience + while); ; {
		time.Sleep(while)

		next := e.snapshot()
		if maps.Equal(last, next) {
			return
		}

		if time.Now().After(deadline) {
			e.t.Fatalf("after %s the controllers still change:%s%s", e.patience, changes(last, next), e.failing())
		}

		last = next
	}
}

// snapshot is the versions of all resources that the controllers read or write.
func (e *Environment) snapshot() map[resource.Pointer]life {
	e.t.Helper()

	ctx := context.Background()

	edges, err := e.Runtime.GraphWithResources(ctx)
	if err != nil {
		e.t.Fatal(err)
	}

	out := map[resource.Pointer]life{}

	for _, edge := range edges {
		ptr := resource.Pointer{Namespace: edge.Namespace, Type: edge.Type, ID: edge.ID}

		if r, err := e.Get(ctx, ptr); err == nil { // else it is gone meanwhile, which the next one shows
			out[ptr] = life{version: r.Metadata().Version(), created: r.Metadata().Created()}
		}
	}

	return out
}

// changes lists what differs, a line for each resource.
func changes(before, after map[resource.Pointer]life) string {
	var lines []string

	for ptr, now := range after {
		switch was, ok := before[ptr]; {
		case !ok:
			lines = append(lines, fmt.Sprintf("\n%s is made", ptr))
		case was != now:
			lines = append(lines, fmt.Sprintf("\n%s goes from version %d to %d", ptr, was.version, now.version))
		}
	}

	for ptr := range before {
		if _, ok := after[ptr]; !ok {
			lines = append(lines, fmt.Sprintf("\n%s goes", ptr))
		}
	}

	slices.Sort(lines)

	return strings.Join(lines, "")
}
