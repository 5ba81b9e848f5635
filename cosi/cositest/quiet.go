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

// life identifies a version of a resource. After a resource is destroyed and created again, versions repeat.
type life struct {
	version uint64
	created time.Time
}

// Quiet waits until the resources that the controllers read or write have not changed for a while. It fails if they never
// stop changing: controllers whose work is done must not write.
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
			e.t.Fatalf("after %s resources still change:%s%s", e.patience, changes(last, next), e.failing())
		}

		last = next
	}
}

// snapshot returns the versions of all resources that the controllers read or write.
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

		if r, err := e.Get(ctx, ptr); err == nil { // else it was destroyed: the next snapshot shows that
			out[ptr] = life{version: r.Metadata().Version(), created: r.Metadata().Created()}
		}
	}

	return out
}

// changes lists the differences, one line for each resource.
func changes(before, after map[resource.Pointer]life) string {
	var lines []string

	for ptr, now := range after {
		switch was, ok := before[ptr]; {
		case !ok:
			lines = append(lines, fmt.Sprintf("\n%s was created", ptr))
		case was != now:
			lines = append(lines, fmt.Sprintf("\n%s changed from version %d to %d", ptr, was.version, now.version))
		}
	}

	for ptr := range before {
		if _, ok := after[ptr]; !ok {
			lines = append(lines, fmt.Sprintf("\n%s was destroyed", ptr))
		}
	}

	slices.Sort(lines)

	return strings.Join(lines, "")
}
