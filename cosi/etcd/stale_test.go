// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"testing"
	"time"

	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/etcd"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// TestOldCopy writes in one process while the watch of another process is delayed, but not its requests. The results of the
// other process are correct all the same, also where its old copy would suggest that there is nothing to do.
func TestOldCopy(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	ptr := func(id string) resource.Pointer { return resource.PointerOf[conformance.ItemSpec](ns, id) }

	set := func(st state.Writer, id, value string) error {
		_, err := st.Modify(t.Context(), conformance.NewItem(ns, id, ""), func(r resource.Resource) error {
			r.(conformance.Item).TypedSpec().Value = value

			return nil
		})

		return err
	}

	get := func(st state.Reader, id string) resource.Resource {
		r, err := st.Get(t.Context(), ptr(id))
		if err != nil {
			return nil
		}

		return r
	}

	for name, tt := range map[string]struct {
		before, between, then func(st *etcd.Store) error
		want                  func(r resource.Resource) bool // at the end
	}{
		"add a finalizer": {
			before:  func(st *etcd.Store) error { return st.AddFinalizer(t.Context(), ptr("a"), "f") },
			between: func(st *etcd.Store) error { return st.RemoveFinalizer(t.Context(), ptr("a"), "f") },
			then:    func(st *etcd.Store) error { return st.AddFinalizer(t.Context(), ptr("a"), "f") },
			want:    func(r resource.Resource) bool { return r.Metadata().HasFinalizer("f") },
		},
		"remove a finalizer": {
			between: func(st *etcd.Store) error { return st.AddFinalizer(t.Context(), ptr("a"), "f") },
			then:    func(st *etcd.Store) error { return st.RemoveFinalizer(t.Context(), ptr("a"), "f") },
			want:    func(r resource.Resource) bool { return !r.Metadata().HasFinalizer("f") },
		},
		"set": {
			before:  func(st *etcd.Store) error { return set(st, "a", "1") },
			between: func(st *etcd.Store) error { return set(st, "a", "2") },
			then:    func(st *etcd.Store) error { return set(st, "a", "1") },
			want:    func(r resource.Resource) bool { return value(r) == "1" },
		},
		"set a destroyed resource": {
			before:  func(st *etcd.Store) error { return set(st, "a", "1") },
			between: func(st *etcd.Store) error { return st.Destroy(t.Context(), ptr("a")) },
			then:    func(st *etcd.Store) error { return set(st, "a", "1") },
			want:    func(r resource.Resource) bool { return r != nil && value(r) == "1" },
		},
		"tear down a resource that was created again": {
			before: func(st *etcd.Store) error {
				_, err := st.Teardown(t.Context(), ptr("a"))

				return err
			},
			between: func(st *etcd.Store) error {
				if err := st.Destroy(t.Context(), ptr("a")); err != nil {
					return err
				}

				return set(st, "a", "")
			},
			then: func(st *etcd.Store) error {
				_, err := st.Teardown(t.Context(), ptr("a"))

				return err
			},
			want: func(r resource.Resource) bool { return r.Metadata().Phase() == resource.PhaseTearingDown },
		},
		"get": {
			between: func(st *etcd.Store) error { return set(st, "a", "new") },
			then: func(st *etcd.Store) error {
				r, err := st.Get(t.Context(), ptr("a"), state.WithCurrent())
				if err == nil && value(r) != "new" {
					t.Errorf("get: got %q, want new", value(r))
				}

				return err
			},
			want: func(r resource.Resource) bool { return value(r) == "new" },
		},
	} {
		prefix := newPrefix()
		slow := &gate{}
		st, old := open(t, prefix), openAt(t, dialTo(t, endpoint, slow.option()), prefix)

		ok(t, st.Create(t.Context(), conformance.NewItem(ns, "a", "")))

		if tt.before != nil {
			ok(t, tt.before(st))
		}

		at := get(st, "a").Metadata().Version()
		_, err := old.WatchFor(t.Context(), ptr("a"), state.ResourceIs(func(r resource.Resource) bool { return r.Metadata().Version() == at }))
		ok(t, err)

		open := slow.close()
		ok(t, tt.between(st))

		time.AfterFunc(50*time.Millisecond, open)

		if err := tt.then(old); err != nil {
			t.Errorf("%s: %v", name, err)
		}

		// The copy is not behind the results that its own process got.
		if r := get(old, "a"); !tt.want(r) {
			t.Errorf("%s: its own process reads %v", name, r)
		}

		r, err := st.Get(t.Context(), ptr("a"), state.WithCurrent())
		if err != nil || !tt.want(r) {
			t.Errorf("%s: etcd has %v, %v", name, r, err)
		}
	}
}
