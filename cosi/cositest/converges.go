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
	// rest is how long nothing may change at the end; it is longer than any backoff.
	rest = 2 * time.Minute
	// longPatience is how long a wait lasts while calls fail.
	longPatience = time.Hour
)

// Converges checks that controllers reach the same state whatever faults occur. It runs them once without faults, and then
// once for each of the seeds 1 to runs. In these runs calls are slow, fail before or after they took effect, or panic, and
// watches break. Act plays the other clients at the same time, without faults; after it the faults end. All runs must come
// to rest with the same resources.
//
// Each run is in its own bubble of testing/synctest, so act may sleep. The controllers are created for each run.
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
			t.Fatalf("seed %d: the controllers reach another state.\nwithout faults:\n%s\nwith faults:\n%s", seed, want, got)
		}
	}
}

// converge does one run and returns the resources at its end. Seed 0 has no faults.
func converge(t *testing.T, seed int, controllers func() []Named, act func(e *Environment)) (end string) {
	t.Helper()

	synctest.Test(t, func(t *testing.T) {
		mem := memory.New()
		f := newFaulty(mem, rand.New(rand.NewPCG(uint64(seed), 0))) // the same faults each time

		e := StartOn(t, f, controllers()...)
		e.State, e.patience = mem, longPatience

		synctest.Wait() // the start of the runtime is not tested here
		f.on.Store(seed > 0)
		act(e)
		time.Sleep(time.Second)
		f.on.Store(false)

		e.Quiet(rest)

		end = e.contents()
	})

	return end
}

// contents returns the resources that the controllers read and write, without versions and times, which depend on the run.
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
