// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"bufio"
	"fmt"
	"io"
	"slices"
)

// WriteGraphviz writes edges as a graph in the DOT language: controllers as boxes, resources as notes.
func WriteGraphviz(w io.Writer, edges []Edge) error {
	b := bufio.NewWriter(w)

	fmt.Fprintln(b, "digraph {")
	fmt.Fprintln(b, "\trankdir=LR")

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

		switch e.Kind { //nolint:exhaustive // the rest are solid
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

// node names a resource or a kind of them. Outputs are of a type in any namespace, so kinds meet by type.
func (e Edge) node() string {
	if e.ID == "" {
		return e.Type
	}

	return e.Type + " " + e.Namespace + "/" + e.ID
}
