// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"bufio"
	"fmt"
	"io"
	"slices"
)

// WriteGraphviz writes edges as a graph in the DOT language: controllers as boxes, resources as notes, one for each kind.
// An output without a namespace leads to all namespaces of its type that another edge names.
func WriteGraphviz(w io.Writer, edges []Edge) error {
	b := bufio.NewWriter(w)

	fmt.Fprintln(b, "digraph {")
	fmt.Fprintln(b, "\trankdir=LR")

	edges = withNamespaces(edges)

	var controllers, resources []string

	for _, e := range edges {
		controllers = append(controllers, e.Controller)
		resources = append(resources, e.node())
	}

	slices.Sort(controllers)
	slices.Sort(resources)

	for _, c := range slices.Compact(controllers) {
		fmt.Fprintf(b, "\t%q [shape=box]\n", c)
	}

	for _, r := range slices.Compact(resources) {
		fmt.Fprintf(b, "\t%q [shape=note, style=filled, fillcolor=azure2]\n", r)
	}

	for _, e := range edges {
		from, to, style := e.node(), e.Controller, "solid"

		switch e.Kind { // the rest are solid
		case OutputExclusive, OutputShared:
			from, to = to, from
		case InputWeak, InputMapped:
			style = "dashed"
		case InputDestroyReady, InputMappedDestroyReady:
			style = "dotted"
		}

		fmt.Fprintf(b, "\t%q -> %q [style=%s]\n", from, to, style)
	}

	fmt.Fprintln(b, "}")

	return b.Flush()
}

// withNamespaces replaces each output that has no namespace by one for each namespace that its type has elsewhere.
func withNamespaces(edges []Edge) []Edge {
	namespaces := map[string][]string{}

	for _, e := range edges {
		if e.Namespace != "" && !slices.Contains(namespaces[e.Type], e.Namespace) {
			namespaces[e.Type] = append(namespaces[e.Type], e.Namespace)
		}
	}

	var out []Edge

	for _, e := range edges {
		if e.Namespace != "" || len(namespaces[e.Type]) == 0 {
			out = append(out, e)

			continue
		}

		for _, ns := range namespaces[e.Type] {
			e.Namespace = ns
			out = append(out, e)
		}
	}

	return out
}

// node names a resource or a kind of them.
func (e Edge) node() string {
	switch {
	case e.ID != "":
		return e.Type + " " + e.Namespace + "/" + e.ID
	case e.Namespace != "":
		return e.Type + " " + e.Namespace
	default:
		return e.Type
	}
}
