// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
)

// EdgeKind is what a controller does with a kind of resources. The numbers are those of the wire.
type EdgeKind uint8

// The kinds of edges.
const (
	OutputExclusive EdgeKind = iota
	OutputShared
	InputStrong
	InputWeak
	InputDestroyReady
	InputPrimary
	InputMapped
	InputMappedDestroyReady
)

// IsOutput reports whether the edge leads from the controller to the resource.
func (k EdgeKind) IsOutput() bool { return k <= OutputShared }

// Edge of the dependency graph. An output has a namespace only if the controller has declared one.
type Edge struct {
	Controller string
	Namespace  string
	Type       string
	ID         string
	Kind       EdgeKind
}

var inputEdges = [...]EdgeKind{
	controller.Weak:               InputWeak,
	controller.Strong:             InputStrong,
	controller.DestroyReady:       InputDestroyReady,
	controller.Primary:            InputPrimary,
	controller.Mapped:             InputMapped,
	controller.MappedDestroyReady: InputMappedDestroyReady,
}

func (a *declared) edges() []Edge {
	var out []Edge

	for _, o := range a.Outputs() {
		kind := OutputExclusive
		if o.Kind == controller.Shared {
			kind = OutputShared
		}

		out = append(out, Edge{Controller: a.Name(), Namespace: o.Namespace, Type: o.Type, Kind: kind})
	}

	for _, in := range a.Inputs() {
		out = append(out, Edge{Controller: a.Name(), Namespace: in.Namespace, Type: in.Type, ID: in.ID, Kind: inputEdges[in.Kind]})
	}

	return out
}

// Graph returns the inputs and outputs of all controllers: first exclusive outputs, then shared ones, then inputs, each
// sorted by controller, namespace, type and id.
func (rt *Runtime) Graph() []Edge {
	rt.mu.Lock()
	defer rt.mu.Unlock()

	var out []Edge
	for _, r := range rt.runners {
		out = append(out, r.edges()...)
	}

	rank := func(e Edge) EdgeKind { return min(e.Kind, InputStrong) }

	slices.SortFunc(out, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Controller, b.Controller),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Type, b.Type), cmp.Compare(a.ID, b.ID))
	})

	return out
}

// GraphWithResources is Graph with one edge for each existing resource. For an output these are the resources that the
// controller owns, in the namespaces that it has written since it was registered or that any controller reads.
func (rt *Runtime) GraphWithResources(ctx context.Context) ([]Edge, error) {
	graph := rt.Graph()
	places := rt.places(graph)

	var out []Edge

	for _, e := range graph {
		in := []string{e.Namespace}
		if e.Namespace == "" {
			in = places[e.Type]
		}

		for _, ns := range in {
			items, err := rt.state.List(ctx, resource.Kind{Namespace: ns, Type: e.Type})
			if err != nil {
				return nil, err
			}

			for _, r := range items {
				md := r.Metadata()
				if e.Kind.IsOutput() && md.Owner() != e.Controller || e.ID != "" && e.ID != md.ID() {
					continue
				}

				out = append(out, Edge{Controller: e.Controller, Namespace: ns, Type: e.Type, ID: md.ID(), Kind: e.Kind})
			}
		}
	}

	return out, nil
}

// places returns the namespaces of each type that controllers read, have declared, or have written.
func (rt *Runtime) places(graph []Edge) map[string][]string {
	out := map[string][]string{}

	add := func(typ, namespace string) {
		if namespace != "" && !slices.Contains(out[typ], namespace) {
			out[typ] = append(out[typ], namespace)
		}
	}

	for _, e := range graph {
		add(e.Type, e.Namespace)
	}

	rt.mu.Lock()
	defer rt.mu.Unlock()

	for _, r := range rt.runners {
		for _, kind := range r.written() {
			add(kind.Type, kind.Namespace)
		}
	}

	for _, namespaces := range out {
		slices.Sort(namespaces)
	}

	return out
}

// writtenKinds are the kinds that a controller has written: usually few.
type writtenKinds struct {
	list atomic.Pointer[[]resource.Kind]
}

func (w *writtenKinds) add(kind resource.Kind) {
	for {
		old := w.list.Load()
		if old != nil && slices.Contains(*old, kind) {
			return
		}

		next := []resource.Kind{kind}
		if old != nil {
			next = append(next, *old...)
		}

		if w.list.CompareAndSwap(old, &next) {
			return
		}
	}
}

func (a *declared) written() []resource.Kind {
	if list := a.kinds.list.Load(); list != nil {
		return *list
	}

	return nil
}
