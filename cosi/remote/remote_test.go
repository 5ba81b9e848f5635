// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/remote"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/server"
	"github.com/seed-59268b81/talos/cosi/state"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, func(t *testing.T) state.State {
		t.Helper()

		return remote.New(serve(t, memory.New()).conn)
	})
}

// old is a server without Teardown.
type old struct{ *server.Server }

func (old) Teardown(context.Context, *v1alpha1.TeardownRequest) (*v1alpha1.TeardownResponse, error) {
	return nil, status.Error(codes.Unimplemented, "unknown method")
}

func (old) TeardownAndDestroy(context.Context, *v1alpha1.TeardownAndDestroyRequest) (*v1alpha1.TeardownAndDestroyResponse, error) {
	return nil, status.Error(codes.Unimplemented, "unknown method")
}

func TestConformanceWithOldServer(t *testing.T) {
	conformance.Run(t, func(t *testing.T) state.State {
		t.Helper()

		return remote.New(newLink(t, old{server.New(memory.New())}).conn)
	})
}

func item(id, value string) conformance.Item { return conformance.NewItem("n", id, value) }

func ok(t *testing.T, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}

func next(t *testing.T, ch <-chan state.Event) state.Event {
	t.Helper()

	select {
	case ev := <-ch:
		return ev
	case <-time.After(20 * time.Second):
		t.Fatal("no event")

		return state.Event{}
	}
}

func want(t *testing.T, ch <-chan state.Event, typ state.EventType, id string, version uint64) state.Event {
	t.Helper()

	ev := next(t, ch)
	if md := ev.Resource.Metadata(); ev.Type != typ || md.ID() != id || md.Version() != version {
		t.Fatalf("got event %d of %s (%v), want %d of %s@%d", ev.Type, md, ev.Error, typ, id, version)
	}

	return ev
}

func set(t *testing.T, st state.State, id, value string) {
	t.Helper()

	_, err := st.Modify(t.Context(), item(id, ""), func(r resource.Resource) error {
		r.(conformance.Item).TypedSpec().Value = value

		return nil
	})
	ok(t, err)
}

// TestRestart stops and starts the server under watches of all kinds: no event is lost or repeated.
func TestRestart(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	mem := memory.New()
	l := serve(t, mem)
	st := remote.New(l.conn)
	kind := item("", "").Metadata().Kind()

	set(t, mem, "a", "1")
	set(t, mem, "b", "1")

	plain, boot, one, none := make(chan state.Event), make(chan state.Event), make(chan state.Event), make(chan state.Event)
	ok(t, st.WatchKind(t.Context(), kind, plain))
	ok(t, st.WatchKind(t.Context(), kind, boot, state.WithBootstrapContents()))
	ok(t, st.Watch(t.Context(), item("a", "").Metadata().Pointer(), one))
	ok(t, st.Watch(t.Context(), item("none", "").Metadata().Pointer(), none))

	want(t, boot, state.Created, "a", 1)
	want(t, boot, state.Created, "b", 1)
	want(t, boot, state.Bootstrapped, "", 0)
	want(t, one, state.Created, "a", 1)
	want(t, none, state.Destroyed, "none", 0)

	version := uint64(1)

	for range 3 {
		l.down()

		for range 5 {
			version++
			set(t, mem, "a", fmt.Sprint(version))
		}

		l.up(server.New(mem))

		version++
		set(t, mem, "a", fmt.Sprint(version))

		for v := version - 5; v <= version; v++ {
			want(t, plain, state.Updated, "a", v)
			want(t, boot, state.Updated, "a", v)
		}

		// At the first stop the watch of one resource had no bookmark yet: it receives the difference.
		for ev := next(t, one); ; ev = next(t, one) {
			if ev.Type != state.Updated || ev.Old == nil {
				t.Fatalf("got event %d of %s, want an update", ev.Type, ev.Resource.Metadata())
			}

			if ev.Resource.Metadata().Version() == version {
				break
			}
		}
	}

	set(t, mem, "none", "1")
	want(t, none, state.Created, "none", 1)
}

// TestBootstrapBroken breaks the connection during the contents.
func TestBootstrapBroken(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	const n = 3000 // several messages

	mem := memory.New()
	for i := range n {
		ok(t, mem.Create(t.Context(), item(fmt.Sprintf("%04d", i), fmt.Sprintf("%01000d", i))))
	}

	l := serve(t, mem)
	st := remote.New(l.conn)
	ch := make(chan state.Event)
	ok(t, st.WatchKind(t.Context(), item("", "").Metadata().Kind(), ch, state.WithBootstrapContents()))

	seen := map[string]resource.Resource{}
	note := func(ev state.Event) {
		id := ev.Resource.Metadata().ID()

		switch {
		case ev.Type == state.Created && seen[id] == nil, ev.Type == state.Updated && seen[id] != nil:
			seen[id] = ev.Resource
		case ev.Type == state.Destroyed && seen[id] != nil:
			delete(seen, id)
		default:
			t.Fatalf("event %d of %s after %v", ev.Type, ev.Resource.Metadata(), seen[id])
		}
	}

	for range n / 2 {
		note(next(t, ch))
	}

	l.down()
	set(t, mem, "0001", "changed")
	ok(t, mem.Destroy(t.Context(), item("0002", "").Metadata().Pointer()))
	set(t, mem, "new", "1")
	l.up(server.New(mem))

	for ev := next(t, ch); ev.Type != state.Bootstrapped; ev = next(t, ch) {
		note(ev)
	}

	items, err := mem.List(t.Context(), item("", "").Metadata().Kind())
	ok(t, err)

	if len(items) != len(seen) {
		t.Errorf("the watch knows %d resources, there are %d", len(seen), len(items))
	}

	for _, r := range items {
		if got := seen[r.Metadata().ID()]; got == nil || !resource.Equal(got, r) {
			t.Errorf("the watch knows %v, there is %s", got, r.Metadata())
		}
	}
}

// TestForgetfulServer restarts the server with another store: the watch must end with an error.
func TestForgetfulServer(t *testing.T) {
	mem := memory.New()
	l := serve(t, mem)
	ch := make(chan state.Event)
	ok(t, remote.New(l.conn).WatchKind(t.Context(), item("", "").Metadata().Kind(), ch, state.WithBootstrapBookmark()))
	want(t, ch, state.Noop, "", 0)

	l.down()
	l.up(server.New(memory.New()))

	if ev := next(t, ch); ev.Type != state.Errored || !state.IsInvalidBookmark(ev.Error) {
		t.Errorf("got event %d, %v, want an invalid bookmark", ev.Type, ev.Error)
	}
}

func TestWithoutRetry(t *testing.T) {
	l := serve(t, memory.New())
	ch := make(chan state.Event)
	ok(t, remote.New(l.conn, remote.WithoutRetry()).WatchKind(t.Context(), item("", "").Metadata().Kind(), ch))
	l.down()

	if ev := next(t, ch); ev.Type != state.Errored || ev.Error == nil {
		t.Errorf("got event %d, %v, want an error", ev.Type, ev.Error)
	}
}

func TestOpaque(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	mem := memory.New()
	l := serve(t, mem)
	st := remote.New(l.conn, remote.WithOpaque())

	ok(t, mem.Create(t.Context(), item("a", "v")))

	r, err := st.Get(t.Context(), item("a", "").Metadata().Pointer())
	ok(t, err)

	o, isOpaque := r.(*resource.Opaque)
	if !isOpaque {
		t.Fatalf("got a %T", r)
	}

	if text, _ := o.YAMLSpec(); text != "value: v\n" {
		t.Errorf("got %q", text)
	}

	// A type that the server does not know passes through as it is.
	md := resource.NewMetadata("n", "Unknowns.test.dev", "x")
	raw := resource.RawSpec{Proto: []byte{0x0a, 1, 'v'}, YAML: "# a comment\nvalue: v # another\n"}
	ok(t, st.Create(t.Context(), resource.NewOpaque(md, raw)))

	got, err := st.Get(t.Context(), md.Pointer())
	ok(t, err)

	if !resource.EqualSpec(got, resource.NewOpaque(md, raw)) {
		t.Errorf("got %+v, want %+v", got.Spec(), raw)
	}
}

func TestErrorsKeepTheirStatus(t *testing.T) {
	st := remote.New(serve(t, memory.New()).conn)

	_, err := st.Get(t.Context(), item("a", "").Metadata().Pointer())
	if !state.IsNotFound(err) || status.Code(errors.Unwrap(err)) != codes.NotFound {
		t.Errorf("got %v", err)
	}
}
