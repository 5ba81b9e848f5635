// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"fmt"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// EpochSize is the size of an epoch, which identifies the bookmarks of a store.
const EpochSize = epochSize

// Contents is the state in a journal.
type Contents struct {
	Epoch [EpochSize]byte
	Kinds map[resource.Kind]*KindContents
}

// KindContents is a kind in a journal.
type KindContents struct {
	// Items are the current versions by id, each with the number of the change that stored it.
	Items map[string]Item
	// History is the last changes in order, without gaps. Now may be left out.
	History []Change
}

// Item is a version and the number of the change that stored it.
type Item struct {
	Resource resource.Resource
	Seq      uint64
}

// Restore returns a state with the contents that writes its changes to the journal. Contradictory contents are an error.
func Restore(j Journal, contents Contents, opts ...Option) (*State, error) {
	s := New(opts...)
	s.epoch = contents.Epoch
	s.journal = &journal{backing: j}
	s.journal.idle.L = &s.journal.mu

	for name, c := range contents.Kinds {
		k := s.lockKind(name)
		err := k.restore(c)
		k.mu.Unlock()

		if err != nil {
			return nil, fmt.Errorf("restore %s: %w", name, err)
		}
	}

	return s, nil
}

// restore fills an empty kind. The lock is held.
func (k *kind) restore(contents *KindContents) error {
	x := k.index.Load()

	for id, item := range contents.Items {
		item.Resource.Metadata().Seal()

		c := &cell{mod: item.Seq}
		c.version.Store(item.Resource)
		_, at := x.probe(id)
		x = x.add(at, c)
		k.fresh = append(k.fresh, c)
	}

	k.index.Store(x)

	// The new version of a change is the old version of the next change of the resource, or the item.
	now := map[string]resource.Resource{}
	for id, item := range contents.Items {
		now[id] = item.Resource
	}

	for i := len(contents.History) - 1; i >= 0; i-- {
		c := &contents.History[i]

		if c.Old != nil {
			c.Old.Metadata().Seal()
		}

		if c.Type == state.Destroyed {
			c.Now = c.Old
		} else {
			c.Now = now[c.ID]
		}

		if c.Now == nil {
			return fmt.Errorf("change %d of %q has no new version", c.Seq, c.ID)
		}

		if i > 0 && contents.History[i-1].Seq != c.Seq-1 {
			return fmt.Errorf("between changes %d and %d there is a gap", contents.History[i-1].Seq, c.Seq)
		}

		now[c.ID] = c.Old
	}

	if n := len(contents.History); n > 0 {
		k.history.last = contents.History[0].Seq - 1
		k.history.begin(wholly(k.history.last))

		for _, c := range contents.History {
			w := weightOfLast(c.Now)
			for oldest, _ := k.history.excess(x.live, w); oldest != nil; oldest, _ = k.history.excess(x.live, w) {
				k.history.drop(oldest)
			}

			k.history.add(entry{typ: c.Type, now: c.Now, old: c.Old, oldMod: c.OldSeq, weight: w, mark: c.Seq}, x.live)
		}
	}

	k.begun.Store(k.history.last)
	k.seq.Store(k.history.last)
	k.generation.Add(1)

	return nil
}
