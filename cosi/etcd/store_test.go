// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/etcd"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/test/leak"
)

// endpoint is the etcd server of the tests, started once; why is the reason if there is none.
var endpoint, why string

func TestMain(m *testing.M) {
	stop := startEtcd()
	code := leak.Run(m)

	stop()
	os.Exit(code)
}

func startEtcd() (stop func()) {
	s := newServer()
	if s.path == "" {
		why = "etcd not found: run make build, or set ETCD to its path"

		return func() {}
	}

	dir, err := os.MkdirTemp("", "etcd")
	if err == nil {
		err = s.start(filepath.Join(dir, "data"))
	}

	if err != nil {
		why = err.Error()

		return func() {}
	}

	endpoint = s.endpoint()

	return func() {
		s.kill()
		os.RemoveAll(dir)
	}
}

func dial(t testing.TB) *clientv3.Client {
	t.Helper()

	switch {
	case why != "" && os.Getenv("TALOS_E2E") != "": // make test has built one
		t.Fatal(why)
	case why != "":
		t.Skip(why)
	}

	return dialTo(t, endpoint)
}

func ok(t testing.TB, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}

// retry repeats an operation that may fail because a connection was just cut.
func retry(t testing.TB, fn func() error) {
	t.Helper()

	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := fn()
		if err == nil {
			return
		}

		if time.Since(began) > 20*time.Second {
			t.Fatal(err)
		}
	}
}

var prefixes atomic.Int32

func newPrefix() string { return "/test" + strconv.Itoa(int(prefixes.Add(1))) }

func open(t testing.TB, prefix string, opts ...etcd.Option) *etcd.Store {
	t.Helper()

	return openAt(t, dial(t), prefix, opts...)
}

func openAt(t testing.TB, client *clientv3.Client, prefix string, opts ...etcd.Option) *etcd.Store {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()

	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	st, err := etcd.Open(ctx, client, append([]etcd.Option{etcd.WithPrefix(prefix), etcd.WithLog(quiet)}, opts...)...)
	ok(t, err)
	t.Cleanup(st.Close)

	return st
}

func TestConformance(t *testing.T) {
	conformance.Run(t, func(t *testing.T) state.State {
		t.Helper()

		return open(t, newPrefix())
	})
}

const ns = "n/s"

func kind() resource.Kind { return resource.KindOf[conformance.ItemSpec](ns) }

func value(r resource.Resource) string { return r.(conformance.Item).TypedSpec().Value } // all are

// TestShared writes the same resources in several simulated processes: no write is lost, and all see the same versions.
func TestShared(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	const processes, each = 3, 30

	prefix := newPrefix()

	var (
		stores []*etcd.Store
		wg     sync.WaitGroup
	)

	for range processes {
		stores = append(stores, open(t, prefix))
	}

	for i, st := range stores {
		wg.Go(func() {
			for n := range each {
				_, err := st.Modify(t.Context(), conformance.NewItem(ns, "counter", "0"), func(r resource.Resource) error {
					n, err := strconv.Atoi(value(r))
					r.(conformance.Item).TypedSpec().Value = strconv.Itoa(n + 1)

					return err
				})
				if err != nil {
					t.Error(err)
				}

				if err := st.Create(t.Context(), conformance.NewItem(ns, fmt.Sprint("once", n), fmt.Sprint(i))); err != nil && !state.IsConflict(err) {
					t.Error(err)
				}
			}
		})
	}

	wg.Wait()

	for i, st := range stores {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)

		_, err := st.WatchFor(ctx, resource.PointerOf[conformance.ItemSpec](ns, "counter"), state.ResourceIs(func(r resource.Resource) bool {
			return value(r) == strconv.Itoa(processes*each)
		}))
		if err != nil {
			t.Errorf("store %d: %v", i, err)
		}

		cancel()

		items, err := st.List(t.Context(), kind())
		ok(t, err)

		if len(items) != each+1 {
			t.Errorf("store %d: got %d items, want %d", i, len(items), each+1)
		}
	}
}

// TestBookmarks resumes in another process, and after a restart.
func TestBookmarks(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	prefix := newPrefix()
	st := open(t, prefix)
	ch := make(chan state.Event, 100)
	ok(t, st.WatchKind(t.Context(), kind(), ch, state.WithBootstrapBookmark()))

	marks := []state.Bookmark{(<-ch).Bookmark}

	for i := range 6 {
		_, err := st.Modify(t.Context(), conformance.NewItem(ns, fmt.Sprint(i%2), ""), func(r resource.Resource) error {
			r.(conformance.Item).TypedSpec().Value = fmt.Sprint(i)

			return nil
		})
		ok(t, err)

		marks = append(marks, (<-ch).Bookmark)
	}

	st.Close()

	again := open(t, prefix)

	for i, mark := range marks {
		ch := make(chan state.Event, 100)
		ok(t, again.WatchKind(t.Context(), kind(), ch, state.WithKindStartFromBookmark(mark)))

		for want := i; want < 6; want++ {
			if ev := <-ch; value(ev.Resource) != fmt.Sprint(want) || (ev.Type == state.Created) != (want < 2) {
				t.Errorf("resumed at %d: got %s of %v, want value %d", i, ev.Type, ev.Resource.Spec(), want)
			}
		}
	}

	// Without a history, bookmarks of destroyed resources are refused.
	short := open(t, prefix, etcd.WithHistory(1))
	if err := short.WatchKind(t.Context(), kind(), make(chan state.Event), state.WithKindStartFromBookmark(marks[0])); !state.IsInvalidBookmark(err) {
		t.Errorf("got %v, want an invalid bookmark", err)
	}

	foreign := open(t, newPrefix())
	if err := foreign.WatchKind(t.Context(), kind(), make(chan state.Event), state.WithKindStartFromBookmark(marks[3])); !state.IsInvalidBookmark(err) {
		t.Errorf("another prefix: got %v, want an invalid bookmark", err)
	}
}

// TestRubbish: values that are not resources are left out, and the resources are read.
func TestRubbish(t *testing.T) {
	prefix := newPrefix()
	client := dial(t)

	for _, key := range []string{"/x", "/a/b/c", "/a/b/%zz", "/a/b/c/d"} {
		_, err := client.Put(t.Context(), prefix+key, "rubbish")
		ok(t, err)
	}

	st := open(t, prefix)
	ok(t, st.Create(t.Context(), conformance.NewItem(ns, "good", "v")))

	_, err := client.Put(t.Context(), prefix+"/a/b/e", "more")
	ok(t, err)
	ok(t, st.Create(t.Context(), conformance.NewItem(ns, "good too", "v")))

	items, err := st.List(t.Context(), kind())
	ok(t, err)

	if len(items) != 2 {
		t.Errorf("got %d items, want 2", len(items))
	}
}
