// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// TestUnreadable stores values that this version of the program cannot decode: a spec with a field of another type, and a
// value that is not a resource. Neither is taken for a destruction, and neither is overwritten.
func TestUnreadable(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	// Field 1, the value, as a number.
	spec := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 7)

	for name, tt := range map[string]struct {
		value func(md resource.Metadata) string
		typ   state.EventType // of the event, if any
		event bool
	}{
		"a spec": {func(md resource.Metadata) string {
			md.SetVersion(2)
			md.AddFinalizer("theirs")

			b, err := resource.MarshalWire(resource.NewOpaque(md, resource.RawSpec{Proto: spec}))
			ok(t, err)

			return string(b)
		}, state.Updated, true},
		"no resource": {func(resource.Metadata) string { return "\xff" }, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			prefix, client := newPrefix(), dial(t)
			st := open(t, prefix)
			ptr := resource.PointerOf[conformance.ItemSpec](ns, "a")

			ok(t, st.Create(t.Context(), conformance.NewItem(ns, "a", "readable")))

			ch := make(chan state.Event, 10)
			ok(t, st.WatchKind(t.Context(), kind(), ch))

			r, err := st.Get(t.Context(), ptr)
			ok(t, err)

			key, theirs := prefix+"/n%2Fs/"+ptr.Type+"/a", tt.value(r.Metadata().Copy())

			_, err = client.Put(t.Context(), key, theirs)
			ok(t, err)

			if err := st.Create(t.Context(), conformance.NewItem(ns, "a", "")); err == nil {
				t.Error("it was created again")
			}

			if err := typed.Set(t.Context(), st, ns, "a", conformance.ItemSpec{Value: "ours"}); err == nil {
				t.Error("it was overwritten")
			}

			if _, err := st.Get(t.Context(), ptr); err != nil {
				t.Errorf("get: %v", err)
			}

			res, err := client.Get(t.Context(), key)
			ok(t, err)

			if len(res.Kvs) != 1 || string(res.Kvs[0].Value) != theirs {
				t.Errorf("etcd has %q, want the stored value", res.Kvs)
			}

			_, err = client.Delete(t.Context(), key)
			ok(t, err)

			ev := next(t, ch)
			if tt.event {
				if ev.Type != tt.typ || !ev.Resource.Metadata().HasFinalizer("theirs") {
					t.Errorf("got %s of %v", ev.Type, ev.Resource.Metadata())
				}

				if _, err := typed.As[conformance.ItemSpec](ev.Resource); err == nil {
					t.Error("the reader of the spec got no error")
				}

				ev = next(t, ch)
			}

			if ev.Type != state.Destroyed {
				t.Errorf("got %s of %v, want the destruction at last", ev.Type, ev.Resource.Metadata())
			}
		})
	}
}

// fragileSpec panics when it decodes the value "poison".
type fragileSpec struct{ Value string }

var fragileDefinition = &resource.Definition{Type: "Fragiles.example.org", DefaultNamespace: ns}

// Definition implements resource.Spec.
func (fragileSpec) Definition() *resource.Definition { return fragileDefinition }

// MarshalProto encodes the spec.
func (s fragileSpec) MarshalProto() ([]byte, error) { return []byte(s.Value), nil }

// UnmarshalProto decodes the spec.
func (s *fragileSpec) UnmarshalProto(b []byte) error {
	if string(b) == "poison" {
		panic("it cannot be")
	}

	s.Value = string(b)

	return nil
}

// TestPoison: a value whose decoding panics does not stop the store in the processes that follow it, now or at their next start.
func TestPoison(t *testing.T) {
	ok(t, resource.Register[fragileSpec]())

	prefix, client := newPrefix(), dial(t)
	st := open(t, prefix)
	ptr := resource.PointerOf[fragileSpec](ns, "a")

	ok(t, typed.Set(t.Context(), st, ns, "a", fragileSpec{Value: "x"}))

	r, err := st.Get(t.Context(), ptr)
	ok(t, err)

	md := r.Metadata().Copy()
	md.SetVersion(2)

	poison, err := resource.MarshalWire(resource.NewOpaque(md, resource.RawSpec{Proto: []byte("poison")}))
	ok(t, err)

	_, err = client.Put(t.Context(), prefix+"/n%2Fs/"+ptr.Type+"/a", string(poison))
	ok(t, err)

	for _, st := range []state.State{st, open(t, prefix)} {
		retry(t, func() error {
			if r, err := st.Get(t.Context(), ptr); err != nil || r.Metadata().Version() != 2 {
				return errors.New("the value was not seen yet")
			}

			return nil
		})

		ok(t, typed.Set(t.Context(), st, ns, "b", fragileSpec{Value: "y"}))
	}
}
