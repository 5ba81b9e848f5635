// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/api/inspect"
)

// merging are the edges of a controller that copies a type to another namespace, and of a controller that reads the copy.
var merging = []*inspect.ControllerDependencyEdge{
	{ControllerName: "Config", EdgeType: inspect.DependencyEdgeType_OUTPUT_SHARED, ResourceNamespace: "network-config", ResourceType: "LinkSpecs.x"},
	{ControllerName: "Merge", EdgeType: inspect.DependencyEdgeType_INPUT_WEAK, ResourceNamespace: "network-config", ResourceType: "LinkSpecs.x"},
	{ControllerName: "Merge", EdgeType: inspect.DependencyEdgeType_OUTPUT_SHARED, ResourceNamespace: "network", ResourceType: "LinkSpecs.x"},
	{ControllerName: "Apply", EdgeType: inspect.DependencyEdgeType_INPUT_WEAK, ResourceNamespace: "network", ResourceType: "LinkSpecs.x"},
	{ControllerName: "Apply", EdgeType: inspect.DependencyEdgeType_OUTPUT_EXCLUSIVE, ResourceType: "LinkStatuses.x"},
}

// TestNamespacesAreNodes: the namespaces of a type are separate nodes, so that copies do not make a circle.
func TestNamespacesAreNodes(t *testing.T) {
	resources := Resources{{"network", "LinkSpecs.x"}: {"merged"}, {"network-config", "LinkSpecs.x"}: {"wanted"}}

	var dot strings.Builder
	if err := Write(&dot, merging, resources); err != nil {
		t.Fatal(err)
	}

	dotAccepts(t, dot.String())

	for _, want := range []string{
		`"LinkSpecs.x network-config" -> "Merge" [style=dashed];`,
		`"Merge" -> "LinkSpecs.x network" [style=dashed];`,
		`"LinkSpecs.x network" -> "Apply" [style=dashed];`,
		`"LinkSpecs.x network-config" [shape=note, label="LinkSpecs.x network-config\l\lnetwork-config/wanted\l"];`,
		`"Apply" -> "LinkStatuses.x" [style=bold];`,
	} {
		if !strings.Contains(dot.String(), want) {
			t.Errorf("got\n%s\nwant %s", dot.String(), want)
		}
	}

	if names := circle(withNodes(merging)); len(names) > 0 {
		t.Errorf("%q are in a circle", names)
	}

	if names := circle([]edge{
		{controller: "A", kind: Kind{Type: "T"}, typ: inspect.DependencyEdgeType_INPUT_WEAK},
		{controller: "A", kind: Kind{Type: "T"}, typ: inspect.DependencyEdgeType_OUTPUT_SHARED},
	}); len(names) != 2 {
		t.Errorf("a controller that reads what it writes: got %q in a circle, want both", names)
	}
}

// circle returns the nodes in circles, or between circles: the nodes left after removing all nodes without an arrow to or from them.
func circle(edges []edge) (names []string) {
	for {
		from, to := map[string]bool{}, map[string]bool{}

		ends := func(e edge) (string, string) {
			if isOutput(e.typ) {
				return e.controller, e.kind.String()
			}

			return e.kind.String(), e.controller
		}

		for _, e := range edges {
			a, b := ends(e)
			from[a], to[b] = true, true
		}

		left := slices.DeleteFunc(slices.Clone(edges), func(e edge) bool {
			a, b := ends(e)

			return !to[a] || !from[b]
		})

		if len(left) == len(edges) {
			return slices.Sorted(maps.Keys(from))
		}

		edges = left
	}
}

// TestOutputsWithoutNamespace: an output without a namespace leads to all namespaces of its type.
func TestOutputsWithoutNamespace(t *testing.T) {
	edges := append(merging[:len(merging):len(merging)], &inspect.ControllerDependencyEdge{
		ControllerName: "Anywhere", EdgeType: inspect.DependencyEdgeType_OUTPUT_SHARED, ResourceType: "LinkSpecs.x",
	})

	var dot strings.Builder
	if err := Write(&dot, edges, nil); err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{`"Anywhere" -> "LinkSpecs.x network" `, `"Anywhere" -> "LinkSpecs.x network-config" `} {
		if !strings.Contains(dot.String(), want) {
			t.Errorf("got\n%s\nwant %s", dot.String(), want)
		}
	}
}
