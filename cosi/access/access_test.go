// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/cosi/access"
	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, func(*testing.T) state.State {
		return access.New(memory.New(), func(context.Context, access.Attempt) error { return nil })
	})
}

func TestRule(t *testing.T) {
	var (
		attempts []string
		errNo    = errors.New("no")
		denied   = map[access.Verb]bool{}
	)

	mem := memory.New()
	st := access.New(mem, func(_ context.Context, a access.Attempt) error {
		attempts = append(attempts, fmt.Sprint(a.Verb, " ", a.Namespace, "/", a.ID))

		if denied[a.Verb] {
			return errNo
		}

		return nil
	})

	ctx := t.Context()
	r := conformance.NewItem("n", "x", "1")
	ptr, kind := r.Metadata().Pointer(), r.Metadata().Kind()
	nop := func(resource.Resource) error { return nil }

	for _, tt := range []struct {
		name string
		call func() error
		want []string
	}{
		{"get", func() error { _, err := st.Get(ctx, ptr); return err }, []string{"get n/x"}},
		{"list", func() error { _, err := st.List(ctx, kind); return err }, []string{"list n/"}},
		{"watch", func() error { return st.Watch(ctx, ptr, make(chan state.Event)) }, []string{"watch n/x"}},
		{"watch kind", func() error { return st.WatchKind(ctx, kind, make(chan state.Event)) }, []string{"watch n/"}},
		{"watch aggregated", func() error { return st.WatchKindAggregated(ctx, kind, make(chan []state.Event)) }, []string{"watch n/"}},
		{"watch for", func() error { _, err := st.WatchFor(ctx, ptr); return err }, []string{"watch n/x"}},
		{"notify", func() error { return st.(state.Notifier).Notify(ctx, kind, func(*state.Event) {}) }, []string{"watch n/"}},
		{"create", func() error { return st.Create(ctx, r) }, []string{"create n/x"}},
		{"update", func() error { return st.Update(ctx, r) }, []string{"update n/x"}},
		{"modify", func() error { _, err := st.Modify(ctx, r, nop); return err }, []string{"update n/x", "create n/x"}},
		{"update with conflicts", func() error { _, err := st.UpdateWithConflicts(ctx, ptr, nop); return err }, []string{"update n/x"}},
		{"add finalizer", func() error { return st.AddFinalizer(ctx, ptr, "f") }, []string{"update n/x"}},
		{"remove finalizer", func() error { return st.RemoveFinalizer(ctx, ptr, "f") }, []string{"update n/x"}},
		{"teardown", func() error { _, err := st.Teardown(ctx, ptr); return err }, []string{"destroy n/x"}},
		{"teardown and destroy", func() error { return st.TeardownAndDestroy(ctx, ptr) }, []string{"destroy n/x"}},
		{"destroy", func() error { return st.Destroy(ctx, ptr) }, []string{"destroy n/x"}},
	} {
		attempts = nil

		if err := tt.call(); errors.Is(err, errNo) {
			t.Errorf("%s: got %v", tt.name, err)
		}

		if diff := cmp.Diff(tt.want, attempts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}

		for v := access.Get; v <= access.Destroy; v++ {
			denied[v] = true
		}

		if err := tt.call(); !errors.Is(err, errNo) {
			t.Errorf("%s, denied: got %v, want %v", tt.name, err, errNo)
		}

		clear(denied)
	}

	// A caller that may update but not create.
	denied[access.Create] = true

	if _, err := st.Modify(ctx, r, nop); !errors.Is(err, errNo) {
		t.Errorf("modify of a missing resource: got %v, want %v", err, errNo)
	}

	if err := mem.Create(ctx, conformance.NewItem("n", "x", "1")); err != nil {
		t.Fatal(err)
	}

	if _, err := st.Modify(ctx, r, nop); err != nil {
		t.Errorf("modify of an existing resource: %v", err)
	}
}
