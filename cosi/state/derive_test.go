// SPDX-License-Identifier: Apache-2.0

package state_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

const ns = "n"

var ptr = resource.PointerOf[conformance.ItemSpec](ns, "x")

// interrupted is a state that runs functions once after certain calls.
type interrupted struct {
	state.State

	afterGet, afterTeardown, beforeUpdate, beforeDestroy func()
}

func (i *interrupted) Get(ctx context.Context, ptr resource.Pointer, opts ...state.GetOption) (resource.Resource, error) {
	r, err := i.State.Get(ctx, ptr, opts...)
	happen(i.afterGet)

	return r, err
}

func (i *interrupted) Update(ctx context.Context, r resource.Resource, opts ...state.WriteOption) error {
	happen(i.beforeUpdate)

	return i.State.Update(ctx, r, opts...)
}

func (i *interrupted) Teardown(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) (bool, error) {
	ready, err := i.State.Teardown(ctx, ptr, opts...)
	happen(i.afterTeardown)

	return ready, err
}

func (i *interrupted) Destroy(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) error {
	happen(i.beforeDestroy)

	return i.State.Destroy(ctx, ptr, opts...)
}

func happen(fn func()) {
	if fn != nil {
		fn()
	}
}

// secondLife returns a function that destroys the resource, and creates it again with another value and phase.
func secondLife(t *testing.T, st state.State, phase resource.Phase) func() {
	t.Helper()

	return sync.OnceFunc(func() {
		time.Sleep(time.Millisecond) // the clock of a test stands still

		next := conformance.NewItem(ns, "x", "second")
		next.Metadata().SetPhase(phase)

		if err := errors.Join(st.Destroy(t.Context(), ptr), st.Create(t.Context(), next)); err != nil {
			t.Error(err)
		}
	})
}

// TestSecondLife: a teardown of a resource does not destroy a resource that was created in its place.
func TestSecondLife(t *testing.T) {
	for name, where := range map[string]func(i *interrupted, fn func()){
		"after the teardown": func(i *interrupted, fn func()) { i.afterTeardown = fn },
		"after the get":      func(i *interrupted, fn func()) { i.afterGet = fn },
		"before the destroy": func(i *interrupted, fn func()) { i.beforeDestroy = fn },
	} {
		for _, phase := range []resource.Phase{resource.PhaseRunning, resource.PhaseTearingDown} {
			t.Run(name+" "+phase.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					mem := memory.New()
					st := &interrupted{State: mem}
					where(st, secondLife(t, mem, phase))

					if err := mem.Create(t.Context(), conformance.NewItem(ns, "x", "first")); err != nil {
						t.Fatal(err)
					}

					if err := state.TeardownAndWait(t.Context(), st, ptr); err != nil {
						t.Fatal(err)
					}

					r, err := mem.Get(t.Context(), ptr)

					// A resource that is tearing down when it is first seen cannot be distinguished from ours, and is to be destroyed anyway.
					if name == "after the teardown" && phase == resource.PhaseTearingDown {
						if !state.IsNotFound(err) {
							t.Errorf("got %v, %v, want NotFound", r, err)
						}

						return
					}

					if err != nil || r.(conformance.Item).TypedSpec().Value != "second" {
						t.Errorf("got %v, %v, want the second one", r, err)
					}
				})
			})
		}
	}
}

// TestUpdateOfFirstLife: an update of a version of the first life is refused in the second, although the versions are equal.
// An emulated modification is repeated.
func TestUpdateOfFirstLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New()
		first := conformance.NewItem(ns, "x", "first")

		if err := mem.Create(t.Context(), first); err != nil {
			t.Fatal(err)
		}

		st := &interrupted{State: mem, beforeUpdate: secondLife(t, mem, resource.PhaseRunning)}

		r, err := state.ModifyByUpdate(t.Context(), st, conformance.NewItem(ns, "x", ""), func(r resource.Resource) error {
			r.(conformance.Item).TypedSpec().Value += "!"

			return nil
		})
		if err != nil || r.(conformance.Item).TypedSpec().Value != "second!" {
			t.Errorf("got %v, %v, want second!", r, err)
		}

		first.Metadata().SetVersion(2)

		if err := mem.Update(t.Context(), first); state.ClassOf(err) != state.VersionConflict {
			t.Errorf("got %v, want a version conflict", err)
		}

		// An update without a time of creation is checked by the version alone.
		blind := conformance.NewItem(ns, "x", "blind")
		blind.Metadata().SetVersion(2)

		if err := mem.Update(t.Context(), blind); err != nil {
			t.Error(err)
		}
	})
}

// TestModifyOfDestroyed: when the resource is destroyed in between, Modify creates it, and UpdateWithConflicts returns NotFound.
func TestModifyOfDestroyed(t *testing.T) {
	for _, create := range []bool{true, false} {
		mem := memory.New()
		if err := mem.Create(t.Context(), conformance.NewItem(ns, "x", "first")); err != nil {
			t.Fatal(err)
		}

		st := &interrupted{State: mem, beforeUpdate: sync.OnceFunc(func() {
			if err := mem.Destroy(t.Context(), ptr); err != nil {
				t.Error(err)
			}
		})}

		set := func(r resource.Resource) error {
			r.(conformance.Item).TypedSpec().Value = "set"

			return nil
		}

		var err error
		if create {
			_, err = state.ModifyByUpdate(t.Context(), st, conformance.NewItem(ns, "x", ""), set)
		} else {
			_, err = state.UpdateByUpdate(t.Context(), st, ptr, set)
		}

		if create != (err == nil) || !create && !state.IsNotFound(err) {
			t.Errorf("create %t: got %v", create, err)
		}
	}
}

// TestModifyNotFound: a NotFound of the function about another resource does not create this one.
func TestModifyNotFound(t *testing.T) {
	mem := memory.New()
	if err := mem.Create(t.Context(), conformance.NewItem(ns, "x", "first")); err != nil {
		t.Fatal(err)
	}

	calls := 0

	_, err := state.ModifyByUpdate(t.Context(), mem, conformance.NewItem(ns, "x", ""), func(resource.Resource) error {
		calls++
		_, err := mem.Get(t.Context(), resource.PointerOf[conformance.ItemSpec](ns, "other"))

		return err
	})
	if !state.IsNotFound(err) || calls != 1 {
		t.Errorf("got %v after %d calls, want NotFound after 1", err, calls)
	}
}

// TestConditions: conditions on the resource do not hold for an event about the watch itself.
func TestConditions(t *testing.T) {
	ev := state.Event{Type: state.Errored, Resource: resource.NewTombstone(ptr), Error: errors.New("ended")}

	for name, c := range map[string]state.Condition{
		"finalizers": state.FinalizersEmpty(),
		"phase":      state.PhaseIs(resource.PhaseRunning),
		"resource":   state.ResourceIs(func(resource.Resource) bool { return true }),
	} {
		if c(ev) {
			t.Errorf("%s: holds for an error", name)
		}
	}
}
