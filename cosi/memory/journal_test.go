// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
)

// picky is a journal whose Commit fails for some changes that Check accepts.
type picky struct {
	kept map[resource.Kind]uint64
	gaps int
	free chan struct{}
}

var errPicky = errors.New("not that one")

func (*picky) Check(resource.Kind, string) error { return nil }

func (p *picky) Commit(changes []memory.Change) error {
	<-p.free // when many are waiting

	for _, c := range changes {
		if c.ID[0] == 'x' {
			return errPicky
		}
	}

	for _, c := range changes {
		if p.kept[c.Kind]++; c.Seq != p.kept[c.Kind] {
			p.gaps++
		}
	}

	return nil
}

// TestPickyJournal: of changes that share a transaction, only those fail that the journal cannot commit.
func TestPickyJournal(t *testing.T) {
	j := &picky{kept: map[resource.Kind]uint64{}, free: make(chan struct{})}

	st, err := memory.Restore(j, memory.Contents{})
	if err != nil {
		t.Fatal(err)
	}

	var wg sync.WaitGroup

	const good, bad = 100, 3

	create := func(id string, want error) {
		wg.Go(func() {
			if err := st.Create(t.Context(), conformance.NewItem("n", id, "")); !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", id, err, want)
			}
		})
	}

	for i := range good {
		create(fmt.Sprint(i), nil)
	}

	for i := range bad {
		create(fmt.Sprint("x", i), errPicky)
	}

	time.Sleep(10 * time.Millisecond)
	close(j.free)
	wg.Wait()

	items, err := st.List(t.Context(), resource.KindOf[conformance.ItemSpec]("n"))
	if err != nil || len(items) != good || j.gaps > 0 {
		t.Errorf("got %d items, %d gaps in the numbers, %v, want %d items", len(items), j.gaps, err, good)
	}
}
