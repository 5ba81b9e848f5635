// SPDX-License-Identifier: Apache-2.0

// Package graph draws the controllers of a machine and the resource types between them, in the DOT language of graphviz.
//
// A controller is a box. A resource type is an ellipse, or one for each of its namespaces if it has several. An arrow goes from a type to
// the controllers that read it, and from a controller to the types that it writes. Thick arrows are exclusive outputs and strong inputs,
// dashed arrows shared outputs and weak inputs.
//
// The user runs graphviz for the layout. Linked into talosctl, as WebAssembly, it would be larger than the rest of the program. A layout
// of our own took 700 lines.
package graph

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-59268b81/talos/api/inspect"
)

// Resources are the ids of the existing resources, by kind.
type Resources map[Kind][]string

// styles of arrows, by the kind of edge.
var styles = map[inspect.DependencyEdgeType]string{
	inspect.DependencyEdgeType_OUTPUT_EXCLUSIVE:    "style=bold",
	inspect.DependencyEdgeType_OUTPUT_SHARED:       "style=dashed",
	inspect.DependencyEdgeType_INPUT_STRONG:        "style=bold",
	inspect.DependencyEdgeType_INPUT_WEAK:          "style=dashed",
	inspect.DependencyEdgeType_INPUT_DESTROY_READY: "style=dotted",
}

// Write draws the edges. With resources, each type has the list of its resources.
func Write(w io.Writer, edges []*inspect.ControllerDependencyEdge, resources Resources) error {
	controllers, kinds := map[string]bool{}, map[Kind]bool{}
	arrows := map[string]bool{}

	for _, e := range withNodes(edges) {
		controllers[e.controller], kinds[e.kind] = true, true

		from, to := quote(e.kind.String()), quote(e.controller)
		if isOutput(e.typ) {
			from, to = to, from
		}

		style := cmp.Or(styles[e.typ], "style=solid") // a kind of edge of a newer machine
		if e.id != "" {
			style += ", label=" + quote(e.id)
		}

		arrows[fmt.Sprintf("    %s -> %s [%s];\n", from, to, style)] = true
	}

	var b strings.Builder

	b.WriteString("digraph {\n    rankdir=LR;\n    node [fontname=\"sans-serif\"];\n    edge [fontname=\"sans-serif\", fontsize=10];\n\n")

	for _, name := range slices.Sorted(maps.Keys(controllers)) {
		fmt.Fprintf(&b, "    %s [shape=box, style=filled, fillcolor=\"#cfe2f3\"];\n", quote(name))
	}

	for _, kind := range slices.SortedFunc(maps.Keys(kinds), func(a, b Kind) int { return strings.Compare(a.String(), b.String()) }) {
		fmt.Fprintf(&b, "    %s [shape=%s];\n", quote(kind.String()), shape(kind, resources))
	}

	b.WriteString("\n")

	for _, arrow := range slices.Sorted(maps.Keys(arrows)) {
		b.WriteString(arrow)
	}

	b.WriteString("}\n")

	_, err := io.WriteString(w, b.String())

	return err
}

func isOutput(typ inspect.DependencyEdgeType) bool {
	return typ == inspect.DependencyEdgeType_OUTPUT_EXCLUSIVE || typ == inspect.DependencyEdgeType_OUTPUT_SHARED
}

// maxIDs is how many resources of a type are listed.
const maxIDs = 20

// shape returns an ellipse with the name of the kind, or a note with the list of its resources.
func shape(kind Kind, resources Resources) string {
	var ids []string

	for at, found := range resources {
		if at.Type != kind.Type || kind.Namespace != "" && at.Namespace != kind.Namespace {
			continue
		}

		for _, id := range found {
			ids = append(ids, at.Namespace+"/"+id)
		}
	}

	slices.Sort(ids)

	if more := len(ids) - maxIDs; more > 0 {
		ids = append(ids[:maxIDs], fmt.Sprintf("and %d more", more))
	}

	if len(ids) == 0 {
		return "ellipse"
	}

	var label strings.Builder

	for _, line := range append([]string{kind.String(), ""}, ids...) {
		label.WriteString(escape(line) + `\l`)
	}

	return `note, label="` + label.String() + `"`
}

func quote(text string) string { return `"` + escape(text) + `"` }

// escape escapes text for a quoted string of graphviz.
func escape(text string) string {
	quoted := strconv.QuoteToGraphic(text)

	return strings.NewReplacer(`\n`, " ", `\t`, " ").Replace(quoted[1 : len(quoted)-1])
}
