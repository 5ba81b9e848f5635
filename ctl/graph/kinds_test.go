// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/api/inspect"
)

// merging are the edges of a controller that copies a type from one namespace to another, and of one that reads the copy.
var merging = []*inspect.ControllerDependencyEdge{
	{ControllerName: "Config", EdgeType: inspect.DependencyEdgeType_OUTPUT_SHARED, ResourceNamespace: "network-config", ResourceType: "LinkSpecs.x"},
	{ControllerName: "Merge", EdgeType: inspect.DependencyEdgeType_INPUT_WEAK, ResourceNamespace: "network-config", ResourceType: "LinkSpecs.x"},
	{ControllerName: "Merge", EdgeType: inspect.DependencyEdgeType_OUTPUT_SHARED, ResourceNamespace: "network", ResourceType: "LinkSpecs.x"},
	{ControllerName: "Apply", EdgeType: inspect.DependencyEdgeType_INPUT_WEAK, ResourceNamespace: "network", ResourceType: "LinkSpecs.x"},
	{ControllerName: "Apply", EdgeType: inspect.DependencyEdgeType_OUTPUT_EXCLUSIVE, ResourceType: "LinkStatuses.x"},
}

// TestNamespacesAreNodes: no circle is drawn where there is none.
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

	svg := draw(t, merging, resources)

	texts := wellFormed(t, svg, "text")
	for _, want := range []string{"LinkSpecs network", "LinkSpecs network-config", "network/merged", "network-config/wanted", "LinkStatuses"} {
		if strings.Count("\n"+strings.Join(texts, "\n")+"\n", "\n"+want+"\n") != 1 {
			t.Errorf("got the texts %q, want %q once", texts, want)
		}
	}

	p := pictureOf(merging, resources)

	lines, _, _ := layout(p.order, p.edges)
	for _, l := range lines {
		if l.back {
			t.Errorf("%s → %s runs back: it closes a circle", l.from.name, l.to.name)
		}
	}
}

// TestOutputsWithoutNamespace: an output that does not tell where leads to wherever its type is read.
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
