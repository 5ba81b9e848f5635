// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// saveSnapshot writes a snapshot of etcd into a file.
func saveSnapshot(ctx context.Context, client *clientv3.Client, path string) error {
	from, err := client.Snapshot(ctx)
	if err != nil {
		return err
	}

	defer from.Close()

	to, err := os.Create(path)
	if err != nil {
		return err
	}

	defer to.Close()

	_, err = io.Copy(to, from)

	return err
}

// TestRestored restores etcd from a snapshot while two processes have the store open, so its revision decreases. In one case
// other clients write before the processes can connect again. Then the revision is higher than the processes know, and the
// revision of a known version belongs to another change of the same resource.
func TestRestored(t *testing.T) {
	missing(t, "etcd", "etcdutl")
	ok(t, resource.Register[conformance.ItemSpec]())

	for name, grown := range map[string]bool{"revision decreases": false, "revision has grown": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := ownServer(t, filepath.Join(dir, "one"))
			direct, way := dialTo(t, s.endpoint()), newProxy(t, s.endpoint())

			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()

			slow := &gate{}
			a, b := openAt(t, dialTo(t, way.endpoint(), slow.option()), "/p"), openAt(t, dialTo(t, way.endpoint()), "/p")

			for _, id := range []string{"kept", "updated later", "destroyed later"} {
				ok(t, a.Create(ctx, conformance.NewItem(ns, id, "before")))
			}

			ok(t, saveSnapshot(ctx, direct, filepath.Join(dir, "snapshot")))

			later := resource.PointerOf[conformance.ItemSpec](ns, "updated later")
			ok(t, a.AddFinalizer(ctx, later, "f"))
			ok(t, a.Destroy(ctx, resource.PointerOf[conformance.ItemSpec](ns, "destroyed later")))

			for i := range 10 {
				ok(t, a.Create(ctx, conformance.NewItem(ns, fmt.Sprint("created later ", i), "")))
			}

			_, err := b.WatchFor(ctx, resource.PointerOf[conformance.ItemSpec](ns, "created later 9"), state.EventTypeIs(state.Created))
			ok(t, err)

			ch := make(chan state.Event, 100)
			ok(t, b.WatchKind(ctx, kind(), ch, state.WithBootstrapBookmark()))

			mark := next(t, ch).Bookmark

			s.kill()
			ok(t, s.restore(filepath.Join(dir, "snapshot"), filepath.Join(dir, "two")))

			hung, held := make(chan struct{}), []string{"after"}

			go func() {
				defer close(hung)

				if grown {
					way.hang(2 * time.Second)
				}
			}()

			ok(t, s.start(filepath.Join(dir, "two")))

			if grown {
				c := openAt(t, direct, "/p")
				ok(t, c.AddFinalizer(ctx, later, "other"))

				held = []string{"after", "other"}

				for i := range 20 {
					ok(t, c.Create(ctx, conformance.NewItem("elsewhere", fmt.Sprint(i), "")))
				}
			}

			open := slow.close()

			<-hung
			time.AfterFunc(100*time.Millisecond, open)

			// A write that was decided on the old copy does not replace the restored version.
			retry(t, func() error { return a.AddFinalizer(ctx, later, "after") })
			ok(t, a.Create(ctx, conformance.NewItem(ns, "new", "")))

			if _, err := a.Get(ctx, resource.PointerOf[conformance.ItemSpec](ns, "new")); err != nil {
				t.Errorf("get of a resource just created: %v", err)
			}

			_, err = b.WatchFor(ctx, resource.PointerOf[conformance.ItemSpec](ns, "new"), state.EventTypeIs(state.Created))
			ok(t, err)

			want := []string{"destroyed later", "kept", "new", "updated later"}

			for name, st := range map[string]state.State{"a": a, "b": b} {
				items, err := st.List(ctx, kind())
				ok(t, err)

				var ids []string
				for _, r := range items {
					ids = append(ids, r.Metadata().ID())
				}

				if !slices.Equal(ids, want) {
					t.Errorf("%s has %q, want %q", name, ids, want)
				}

				r, err := st.Get(ctx, later)
				ok(t, err)

				if f := r.Metadata().Finalizers(); !slices.Equal(slices.Sorted(slices.Values(f)), held) {
					t.Errorf("%s has finalizers %q, want %q", name, f, held)
				}

				if err := st.WatchKind(ctx, kind(), make(chan state.Event), state.WithKindStartFromBookmark(mark)); !state.IsInvalidBookmark(err) {
					t.Errorf("%s accepts an earlier bookmark: %v", name, err)
				}
			}

			// The watch received all differences.
			has := map[string]bool{"kept": true, "updated later": true}
			for i := range 10 {
				has[fmt.Sprint("created later ", i)] = true
			}

			for !has["new"] {
				ev := next(t, ch)
				has[ev.Resource.Metadata().ID()] = ev.Type != state.Destroyed
			}

			for id, there := range has {
				if there != slices.Contains(want, id) {
					t.Errorf("the watch says of %q: %t", id, there)
				}
			}

			// Later bookmarks are valid for both stores, and for a store that is opened now.
			fresh := make(chan state.Event, 10)
			ok(t, a.WatchKind(ctx, kind(), fresh, state.WithBootstrapBookmark()))

			mark = next(t, fresh).Bookmark

			ok(t, a.Create(ctx, conformance.NewItem(ns, "newer", "")))

			for name, st := range map[string]state.State{"a": a, "b": b, "new": openAt(t, direct, "/p")} {
				ch := make(chan state.Event, 10)
				ok(t, st.WatchKind(ctx, kind(), ch, state.WithKindStartFromBookmark(mark)))

				if ev := next(t, ch); ev.Resource.Metadata().ID() != "newer" {
					t.Errorf("%s resumes with %s, want newer", name, ev.Resource.Metadata())
				}
			}
		})
	}
}
