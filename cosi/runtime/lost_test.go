// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// recorder is a queue controller that records its calls. It maps strs to ints by label.
type recorder struct {
	name string

	mu   sync.Mutex
	seen []string
}

func (r *recorder) Name() string { return r.name }

func (*recorder) Settings() controller.QueueSettings {
	return controller.QueueSettings{Inputs: []controller.Input{
		controller.In[intSpec](controller.Primary, ""),
		controller.In[strSpec](controller.Mapped, ""),
		controller.In[sentenceSpec](controller.MappedDestroyReady, ""),
	}}
}

func (r *recorder) Reconcile(ctx context.Context, rt controller.Access, _ *slog.Logger, ptr resource.Pointer) error {
	i, err := typed.Find[intSpec](ctx, rt, ptr.Namespace, ptr.ID)
	if err != nil {
		return err
	}

	if i == nil {
		r.note(ptr.ID + " gone")
	} else {
		r.note(ptr.ID)
	}

	return nil
}

func (r *recorder) MapInput(_ context.Context, _ controller.Access, _ *slog.Logger, c controller.Changed) ([]resource.Pointer, error) {
	label, _ := c.Labels.Get("for")
	r.note(fmt.Sprintf("%s for %s %s", c.ID, label, c.Phase))

	return nil, nil
}

func (r *recorder) note(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.seen = append(r.seen, what)
}

// take returns the resources recorded since the last take, each once.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()

	out := slices.Compact(slices.Sorted(slices.Values(r.seen)))
	r.seen = nil

	return out
}

// TestQueueSeesMissedDestructions: resources that are destroyed while a watch is broken are reconciled and mapped like others,
// whether the controller was registered at the start or later.
func TestQueueSeesMissedDestructions(t *testing.T) {
	st := &failing{State: struct{ *memory.State }{memory.New()}}
	early, late := &recorder{name: "Early"}, &recorder{name: "Late"}

	inBubbleOf(t, st, func(b *bench) {
		ctx := b.Context()

		for _, id := range []string{"a", "b"} {
			b.setInt(id, 1)

			s := resource.New[strSpec]("", "of-"+id)
			s.Metadata().SetLabel("for", id)
			b.ok(st.Create(ctx, s))
			b.ok(st.Create(ctx, resource.New[sentenceSpec]("", "on-"+id)))
		}

		b.ok(b.rt.RegisterController(named("Plain", []controller.Input{controller.In[intSpec](controller.Weak, "")})))
		b.begin()
		st.unlisted.Store(true)

		if err := b.rt.RegisterQueueController(early); !errors.Is(err, errDown) {
			b.Errorf("registered, although the list of the kind failed: %v", err)
		}

		st.unlisted.Store(false)
		b.ok(b.rt.RegisterQueueController(early))
		b.ok(b.rt.RegisterQueueController(late)) // its kinds are watched already
		b.setInt("c", 1)
		b.settle()

		for _, r := range []*recorder{early, late} {
			if diff := cmp.Diff([]string{"a", "b", "c"}, r.take()); diff != "" {
				b.Errorf("%s at first (-want +got):\n%s", r.name, diff)
			}
		}

		cut := func() {
			st.down.Store(true)
			st.breakAll()
			time.Sleep(10 * time.Second)
			b.ok(st.Destroy(ctx, resource.PointerOf[intSpec]("", "a")))
			b.ok(st.Destroy(ctx, resource.PointerOf[strSpec]("", "of-a")))
			b.ok(st.Destroy(ctx, resource.PointerOf[sentenceSpec]("", "on-a")))
			st.down.Store(false)
			time.Sleep(5 * time.Minute)
			b.settle()
		}
		cut()

		want := []string{"a gone", "b", "c", "of-a for a tearingDown", "of-b for b running", "on-a for  tearingDown", "on-b for  running"}

		for _, r := range []*recorder{early, late} {
			if diff := cmp.Diff(want, r.take()); diff != "" {
				b.Errorf("%s after the break (-want +got):\n%s", r.name, diff)
			}
		}

		// The controller is called once, and again for a resource that is created again.
		b.setInt("a", 2)
		b.settle()

		if diff := cmp.Diff([]string{"a"}, early.take()); diff != "" {
			b.Errorf("created again (-want +got):\n%s", diff)
		}
	})
}
