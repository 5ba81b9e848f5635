// SPDX-License-Identifier: Apache-2.0

package bolt_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// TestUnfit: a resource that can never be stored is refused, and concurrent writes succeed.
func TestUnfit(t *testing.T) {
	long := strings.Repeat("x", bbolt.MaxKeySize)

	for name, bad := range map[string]resource.Resource{
		"id":        conformance.NewItem(ns, long, ""),
		"namespace": conformance.NewItem(long, "x", ""),
		"type":      resource.NewOpaque(resource.NewMetadata(ns, long, "x"), resource.RawSpec{}),
	} {
		path := filepath.Join(t.TempDir(), "db")
		st := open(t, path)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)

		var wg sync.WaitGroup

		for w := range 8 {
			wg.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					set(t, st, fmt.Sprint(w), fmt.Sprint(i))
				}
			})
		}

		refused := 0

		for ; ctx.Err() == nil; refused++ {
			if err := st.Create(ctx, bad); err == nil || !strings.Contains(err.Error(), "bytes") {
				t.Fatalf("%s: got %v, want that it is too long", name, err)
			}
		}

		wg.Wait()
		cancel()

		if refused == 0 {
			t.Errorf("%s: none was refused: nothing was tested", name)
		}

		ok(t, st.Close())
		open(t, path) // it can be read
	}
}

// TestLongest: the longest address that Check accepts can be stored.
func TestLongest(t *testing.T) {
	const most = bbolt.MaxKeySize - 10

	path := filepath.Join(t.TempDir(), "db")
	st := open(t, path)

	for _, r := range []resource.Resource{
		conformance.NewItem(ns, strings.Repeat("x", most), ""),
		resource.NewOpaque(resource.NewMetadata(strings.Repeat("n", most-1), "t", "x"), resource.RawSpec{}),
	} {
		ok(t, st.Create(t.Context(), r))
	}

	ok(t, st.Close())
	open(t, path)
}

// laterSpec is not registered before it is used.
type laterSpec struct {
	Text  string   `yaml:"text"            protobuf:"1"`
	Names []string `yaml:"names,omitempty" protobuf:"2"`
}

var laterDefinition = &resource.Definition{Type: "Laters.example.org", DefaultNamespace: "default"}

func (laterSpec) Definition() *resource.Definition { return laterDefinition }

// TestSecondStart starts a program twice that registers no types: it reads and changes the resources that it wrote.
func TestSecondStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	ptr := resource.PointerOf[laterSpec]("", "a")

	for start := range 3 {
		st := open(t, path)

		ok(t, meta.Register(t.Context(), st))

		was, err := typed.Find[laterSpec](t.Context(), st, "", "a")
		ok(t, err)

		if (was == nil) != (start == 0) || was != nil && was.TypedSpec().Text != fmt.Sprint("start ", start-1) {
			t.Errorf("start %d: got %v", start, was)
		}

		for range 2 { // the second time, nothing changes
			ok(t, typed.Set(t.Context(), st, "", "a", laterSpec{Text: fmt.Sprint("start ", start), Names: []string{"n"}}))
		}

		ok(t, st.AddFinalizer(t.Context(), ptr, fmt.Sprint("f", start)))

		list, err := typed.List[laterSpec](t.Context(), st, "")
		ok(t, err)

		if len(list) != 1 || list[0].Metadata().Version() != uint64(2*(start+1)) || len(list[0].Metadata().Finalizers()) != start+1 {
			t.Errorf("start %d: got %v", start, list)
		}

		namespaces, err := typed.List[meta.NamespaceSpec](t.Context(), st, "")
		ok(t, err)

		if len(namespaces) != 1 || namespaces[0].Metadata().Version() != 1 {
			t.Errorf("start %d: got namespaces %v, want one unchanged namespace", start, namespaces)
		}

		ok(t, st.Close())
	}
}

// TestSecondStartOfWatch: events of resources that were stored before their type was registered can be decoded too.
func TestSecondStartOfWatch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	st := open(t, path)
	ok(t, st.Create(t.Context(), resource.NewOpaque(resource.NewMetadata("default", "Evenlaters.example.org", "a"), resource.RawSpec{Proto: []byte("\x0a\x01x")})))
	ok(t, st.Close())

	ch := make(chan state.Event, 10)
	st = open(t, path)
	ok(t, st.WatchKind(t.Context(), resource.KindOf[evenLaterSpec](""), ch, state.WithBootstrapContents()))

	r, err := typed.As[evenLaterSpec]((<-ch).Resource)
	ok(t, err)

	if r.TypedSpec().Text != "x" || !r.Metadata().Sealed() {
		t.Errorf("got %v, sealed %t", r.TypedSpec(), r.Metadata().Sealed())
	}

	if _, err := typed.As[laterSpec](resource.NewOpaque(resource.NewMetadata("default", "Others.example.org", "a"), resource.RawSpec{})); err == nil {
		t.Error("a resource of another type was decoded")
	}
}

type evenLaterSpec struct {
	Text string `yaml:"text" protobuf:"1"`
}

var evenLaterDefinition = &resource.Definition{Type: "Evenlaters.example.org", DefaultNamespace: "default"}

func (evenLaterSpec) Definition() *resource.Definition { return evenLaterDefinition }
