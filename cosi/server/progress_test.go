// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/internal/wire"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
)

// TestProgressOfOne: the quiet watch of one resource gets Noop events if its client accepts them. Other clients, such as the
// reference's, get only the events of the resource.
func TestProgressOfOne(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	st := memory.New(memory.WithHistory(16))
	client := dial(t, st)
	quiet, busy := conformance.NewItem("n", "quiet", ""), conformance.NewItem("n", "busy", "")
	ok(t, st.Create(t.Context(), quiet))

	set := func(empty conformance.Item, value string) {
		_, err := st.Modify(t.Context(), empty, func(r resource.Resource) error {
			r.(conformance.Item).TypedSpec().Value = value

			return nil
		})
		ok(t, err)
	}

	own := watchOne(wire.Accepting(t.Context(), wire.Progress), t, client, "quiet")
	foreign := watchOne(t.Context(), t, client, "quiet")

	for i := range 100 {
		set(busy, strconv.Itoa(i))
	}

	set(quiet, "changed")

	want := []v1alpha1.EventType{v1alpha1.EventType_CREATED, v1alpha1.EventType_UPDATED}
	if diff := cmp.Diff(want, untilUpdated(t, foreign)); diff != "" {
		t.Errorf("a client that does not accept progress (-want +got):\n%s", diff)
	}

	if got := untilUpdated(t, own); !slices.Contains(got, v1alpha1.EventType_NOOP) {
		t.Errorf("a client that accepts progress: got %v, want a Noop", got)
	}
}

// watchOne starts the watch of an item.
func watchOne(ctx context.Context, t *testing.T, client v1alpha1.StateClient, id string) v1alpha1.State_WatchClient {
	t.Helper()

	stream, err := client.Watch(ctx, &v1alpha1.WatchRequest{Namespace: "n", Type: itemType, Id: &id, ApiVersion: 1})
	ok(t, err)

	_, err = stream.Recv() // the watch is established
	ok(t, err)

	return stream
}

// untilUpdated returns the types of the events up to the first update.
func untilUpdated(t *testing.T, stream v1alpha1.State_WatchClient) (got []v1alpha1.EventType) {
	t.Helper()

	for !slices.Contains(got, v1alpha1.EventType_UPDATED) {
		res, err := stream.Recv()
		ok(t, err)

		for _, ev := range res.GetEvent() {
			got = append(got, ev.GetEventType())
		}
	}

	return got
}
