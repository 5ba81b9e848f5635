// SPDX-License-Identifier: Apache-2.0

package cositest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

const (
	// rest is for how long nothing may change, and longer than any backoff.
	rest = 2 * time.Minute
	// longPatience is how long a wait lasts while calls fail.
	longPatience = time.Hour
)

// Converges holds controllers to what they are for: they end in the same state, whatever goes wrong on the way. It runs
// them once undisturbed, and then with each of the seeds 1 to runs, by which calls take their time, fail before or after
// they have done what they were to do, panic, and watches break. Act plays the others, meanwhile, undisturbed itself;
// after it the faults end. All runs must come to rest with the same resources.
//
// Each run is in a bubble of testing/synctest of its own, so act may sleep. The controllers
// are created for each.
func Converges(t *testing.T, runs int, controllers func() []Named, act func(e *Environment)) {
	t.Helper()

	var want string

	for seed := range runs + 1 {
		got := converge(t, seed, controllers, act)

		switch {
		case t.Failed():
			t.Fatalf("seed %d", seed)
		case seed == 0:
			want = got
		case got != want:
			t.Fatalf("seed %d: the controllers end in another state.\nundisturbed:\n%s\nwith faults:\n%s", seed, want, got)
		}
	}
}

// converge returns what there is in the end of one run. Seed 0 has no faults.
func converge(t *testing.T, seed int, controllers func() []Named, act func(e *Environment)) (end string) {
	t.Helper()

	synctest.Test(t, func(t *testing.T) {
		mem := memory.New()
		f := newFaulty(mem, rand.New(rand.NewPCG(uint64(seed), 0))) // it is to be the same each time

		e := StartOn(t, f, controllers()...)
		e.State, e.patience = mem, longPatience

		synctest.Wait() // a runtime that does not start is not what this is about
		f.on.Store(seed > 0)
		act(e)
		time.Sleep(time.Second)
		f.on.Store(false)

		e.Quiet(rest)

		end = e.contents()
	})

	return end
}

// contents is what the controllers read and write, without what depends on how it came about.
func (e *Environment) contents() string {
	e.t.Helper()

	var b strings.Builder

	pointers := slices.SortedFunc(maps.Keys(e.snapshot()), func(a, b resource.Pointer) int { return strings.Compare(a.String(), b.String()) })

	for _, ptr := range pointers {
		r, err := e.Get(context.Background(), ptr)
		if state.IsNotFound(err) {
			continue
		}

		if err != nil {
			e.t.Fatal(err)
		}

		text, err := resource.MarshalYAML(r)
		if err != nil {
			e.t.Fatal(err)
		}

		_, spec, _ := strings.Cut(string(text), "\nspec:")
		md := r.Metadata()

		fmt.Fprintf(&b, "%s of %q, %s, finalizers %q, labels %v:%s\n", ptr, md.Owner(), md.Phase(), slices.Sorted(slices.Values(md.Finalizers())), md.Labels().Map(), spec)
	}

	return b.String()
}
