// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
)

func TestContextWithTeardown(t *testing.T) {
	ptr := resource.PointerOf[intSpec]("", "x")

	for _, tt := range []struct {
		name          string
		before, after func(st state.State) error
		ended         bool
	}{
		{name: "changed", after: func(st state.State) error { return st.AddFinalizer(t.Context(), ptr, "f") }},
		{name: "torn down", after: func(st state.State) error { _, err := st.Teardown(t.Context(), ptr); return err }, ended: true},
		{name: "destroyed", after: func(st state.State) error { return st.Destroy(t.Context(), ptr) }, ended: true},
		{name: "torn down before", before: func(st state.State) error { _, err := st.Teardown(t.Context(), ptr); return err }, ended: true},
		{name: "destroyed before", before: func(st state.State) error { return st.Destroy(t.Context(), ptr) }, ended: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := memory.New()

				a, err := runtime.NewAccess(st, "a", []controller.Input{controller.In[intSpec](controller.Primary, "")}, nil)
				if err != nil {
					t.Fatal(err)
				}

				if err := errors.Join(st.Create(t.Context(), resource.New[intSpec]("", "x")), do(tt.before, st)); err != nil {
					t.Fatal(err)
				}

				ctx, cancel, err := a.ContextWithTeardown(t.Context(), ptr)
				if err != nil {
					t.Fatal(err)
				}
				defer cancel()

				if err := do(tt.after, st); err != nil {
					t.Fatal(err)
				}

				synctest.Wait()

				if got := errors.Is(context.Cause(ctx), controller.ErrTeardown); got != tt.ended {
					t.Errorf("ended: got %t (%v), want %t", got, context.Cause(ctx), tt.ended)
				}

				if _, _, err := a.ContextWithTeardown(t.Context(), resource.PointerOf[strSpec]("", "x")); state.ClassOf(err) != state.AccessDenied {
					t.Errorf("resource that is not an input: got %v", err)
				}
			})
		})
	}
}

func do(fn func(state.State) error, st state.State) error {
	if fn == nil {
		return nil
	}

	return fn(st)
}
