// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"slices"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// try is one operation of a random history.
type try struct {
	*history

	id, owner, value, finalizer string
	e                           *entry // the entry of the id in the model; nil for none
}

// step does one operation on the state and on the model, and compares the results.
func (h *history) step() {
	h.Helper()

	t := try{
		history: h,
		id:      fmt.Sprintf("id%d", h.r.IntN(randomIDs)), owner: randomOwners[h.r.IntN(len(randomOwners))],
		value: fmt.Sprint(h.r.IntN(4)), finalizer: string(rune('x' + h.r.IntN(2))),
	}
	t.e = h.model[t.id]

	if t.e != nil && h.r.IntN(3) > 0 {
		t.owner = t.e.owner
	}

	[]func(){t.create, t.update, t.modify, t.destroy, t.teardown, t.addFinalizer, t.removeFinalizer}[h.r.IntN(7)]()
}

func (t *try) as() state.WriteOption { return state.WithOwner(t.owner) }

func (t *try) owns() bool { return t.e != nil && t.e.owner == t.owner }

func (t *try) check(op string, err error, want bool) {
	t.Helper()

	if (err == nil) != want {
		t.Fatalf("%s of %s as %q: got %v, want success %t of %+v", op, t.id, t.owner, err, want, t.e)
	}
}

// created applies a creation to the model.
func (t *try) created() {
	t.model[t.id] = &entry{version: 1, value: t.value, owner: t.owner}
	t.happened(state.Created, t.id, t.model[t.id])
}

func (t *try) create() {
	t.Helper()
	t.check("create", t.st.Create(t.Context(), NewItem(ns, t.id, t.value), t.as()), t.e == nil)

	if t.e == nil {
		t.created()
	}
}

func (t *try) update() {
	t.Helper()

	r := NewItem(ns, t.id, t.value)
	r.Metadata().SetVersion(1)

	if t.e != nil {
		r.Metadata().SetVersion(t.e.version - uint64(t.r.IntN(2)))
		r.Metadata().AddFinalizer(t.e.finalizers...)
		r.Metadata().SetPhase(t.e.phase())
	}

	can := t.owns() && r.Metadata().Version() == t.e.version && !t.e.tearing
	t.check("update", t.st.Update(t.Context(), r, t.as()), can)

	if can {
		t.e.value = t.value
		t.write(t.id, t.e)
	}
}

func (t *try) modify() {
	t.Helper()

	_, err := t.st.Modify(t.Context(), NewItem(ns, t.id, ""), func(r resource.Resource) error {
		r.(Item).TypedSpec().Value = t.value

		return nil
	}, t.as())

	can := t.owns() && !t.e.tearing
	t.check("modify", err, t.e == nil || can)

	switch {
	case t.e == nil:
		t.created()
	case can && t.e.value != t.value:
		t.e.value = t.value
		t.write(t.id, t.e)
	}
}

func (t *try) destroy() {
	t.Helper()

	can := t.owns() && len(t.e.finalizers) == 0
	t.check("destroy", t.st.Destroy(t.Context(), ptr(t.id), t.as()), can)

	if can {
		delete(t.model, t.id)
		t.happened(state.Destroyed, t.id, t.e)
	}
}

func (t *try) teardown() {
	t.Helper()

	ready, err := t.st.Teardown(t.Context(), ptr(t.id), t.as())
	t.check("teardown", err, t.owns())

	if err != nil {
		return
	}

	if !t.e.tearing {
		t.e.tearing = true
		t.write(t.id, t.e)
	}

	if ready != (len(t.e.finalizers) == 0) {
		t.Fatalf("teardown of %s: got ready %t with %v", t.id, ready, t.e.finalizers)
	}
}

func (t *try) addFinalizer() {
	t.Helper()
	t.check("add finalizer", t.st.AddFinalizer(t.Context(), ptr(t.id), t.finalizer), t.e != nil)

	if t.e != nil && !slices.Contains(t.e.finalizers, t.finalizer) {
		t.e.finalizers = append(t.e.finalizers, t.finalizer)
		t.write(t.id, t.e)
	}
}

func (t *try) removeFinalizer() {
	t.Helper()
	t.check("remove finalizer", t.st.RemoveFinalizer(t.Context(), ptr(t.id), t.finalizer), t.e != nil)

	if t.e != nil && slices.Contains(t.e.finalizers, t.finalizer) {
		t.e.finalizers = slices.DeleteFunc(t.e.finalizers, func(f string) bool { return f == t.finalizer })
		t.write(t.id, t.e)
	}
}
