// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/api/inspect"
	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
)

var edges = []*inspect.ControllerDependencyEdge{
	{ControllerName: "network.LinkController", EdgeType: inspect.DependencyEdgeType_INPUT_WEAK, ResourceNamespace: "network", ResourceType: "LinkSpecs.net.talos.dev"},
	{ControllerName: "network.LinkController", EdgeType: inspect.DependencyEdgeType_OUTPUT_EXCLUSIVE, ResourceType: "LinkStatuses.net.talos.dev"},
	{ControllerName: "network.LinkController", EdgeType: inspect.DependencyEdgeType_INPUT_STRONG, ResourceType: "LinkStatuses.net.talos.dev", ResourceId: `eth"0`},
	{ControllerName: "network.LinkController", EdgeType: inspect.DependencyEdgeType_INPUT_STRONG, ResourceType: "LinkStatuses.net.talos.dev", ResourceId: `eth"0`},
}

const head = "digraph {\n    rankdir=LR;\n    node [fontname=\"sans-serif\"];\n    edge [fontname=\"sans-serif\", fontsize=10];\n\n"

const arrows = `
    "LinkSpecs.net.talos.dev" -> "network.LinkController" [style=dashed];
    "LinkStatuses.net.talos.dev" -> "network.LinkController" [style=bold, label="eth\"0"];
    "network.LinkController" -> "LinkStatuses.net.talos.dev" [style=bold];
}
`

func TestWrite(t *testing.T) {
	for _, tt := range []struct {
		name      string
		resources Resources
		want      string
	}{
		{name: "types", want: `    "network.LinkController" [shape=box, style=filled, fillcolor="#cfe2f3"];
    "LinkSpecs.net.talos.dev" [shape=ellipse];
    "LinkStatuses.net.talos.dev" [shape=ellipse];
`},
		{
			name: "resources", resources: Resources{{"network", "LinkSpecs.net.talos.dev"}: {"lo", "eth0"}, {"network-config", "LinkSpecs.net.talos.dev"}: {`a\b`}},
			want: `    "network.LinkController" [shape=box, style=filled, fillcolor="#cfe2f3"];
    "LinkSpecs.net.talos.dev" [shape=note, label="LinkSpecs.net.talos.dev\l\lnetwork-config/a\\b\lnetwork/eth0\lnetwork/lo\l"];
    "LinkStatuses.net.talos.dev" [shape=ellipse];
`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got strings.Builder

			if err := Write(&got, edges, tt.resources); err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(head+tt.want+arrows, got.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}

			dotAccepts(t, got.String())
		})
	}
}

func TestManyResources(t *testing.T) {
	var ids []string
	for i := range 100 {
		ids = append(ids, fmt.Sprintf("%03d", i))
	}

	var got strings.Builder

	if err := Write(&got, edges, Resources{{"n", "LinkSpecs.net.talos.dev"}: ids}); err != nil {
		t.Fatal(err)
	}

	if !strings.Contains(got.String(), `n/019\land 80 more\l"`) {
		t.Errorf("got\n%s\nwant 20 ids and the number of further ids", got.String())
	}
}

// FuzzWrite: graphviz can read the graph, with any names.
func FuzzWrite(f *testing.F) {
	f.Add("a", "b", "c", uint8(1))
	f.Add("", "", "\x00<&>\"'", uint8(0))
	f.Add("]]>", "\xff", "\\l", uint8(9))

	f.Fuzz(func(t *testing.T, controller, typ, id string, kind uint8) {
		edges := []*inspect.ControllerDependencyEdge{
			{ControllerName: controller, ResourceType: typ, ResourceId: id, EdgeType: inspect.DependencyEdgeType(kind)},
			{ControllerName: typ, ResourceType: controller, EdgeType: inspect.DependencyEdgeType_OUTPUT_SHARED},
			{ControllerName: controller, ResourceType: controller},
		}

		var got strings.Builder

		if err := Write(&got, edges, Resources{{id, typ}: {controller, id}}); err != nil {
			t.Fatal(err)
		}

		dotAccepts(t, got.String())
	})
}

// dotAccepts checks that graphviz can read the graph.
func dotAccepts(t testing.TB, graph string) {
	t.Helper()

	cmd := exec.Command(hosttest.Need(t, "dot"), "-Tcanon")
	cmd.Stdin = strings.NewReader(graph)

	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("dot: %v\n%s", err, output)
	}
}
