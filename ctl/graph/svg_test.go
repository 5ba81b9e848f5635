// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/api/inspect"
)

var rewrite = flag.Bool("rewrite", false, "write the expected pictures anew")

func draw(t testing.TB, edges []*inspect.ControllerDependencyEdge, resources Resources) string {
	t.Helper()

	var b bytes.Buffer
	if err := SVG(&b, edges, resources); err != nil {
		t.Fatal(err)
	}

	return b.String()
}

// wellFormed has the picture read as XML, and returns the text of its elements of a name.
func wellFormed(t testing.TB, svg, element string) (texts []string) {
	t.Helper()

	decoder := xml.NewDecoder(strings.NewReader(svg))

	for inside := false; ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return texts
		}

		if err != nil {
			t.Fatalf("not XML: %v\n%s", err, svg)
		}

		switch token := token.(type) {
		case xml.StartElement:
			inside = token.Name.Local == element
		case xml.EndElement:
			inside = false
		case xml.CharData:
			if inside {
				texts = append(texts, string(token))
			}
		}
	}
}

func TestSVG(t *testing.T) {
	got := draw(t, edges, Resources{{"network", "LinkSpecs.net.talos.dev"}: {"lo", "eth<0>"}})

	if *rewrite {
		if err := os.WriteFile("testdata/links.svg", []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile("testdata/links.svg")
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	texts := strings.Join(wellFormed(t, got, "text"), "\n")
	for _, want := range []string{"network.LinkController", "LinkSpecs", "network/eth<0>"} {
		if !strings.Contains(texts, want) {
			t.Errorf("the picture has the texts\n%s\nwant %q too", texts, want)
		}
	}
}

func TestSVGEmpty(t *testing.T) { wellFormed(t, draw(t, nil, nil), "text") }

// TestHubs: a type that everybody reads has no arrows, and is named by its readers.
func TestHubs(t *testing.T) {
	var edges []*inspect.ControllerDependencyEdge
	for i := range maxArrows + 1 {
		edges = append(edges, &inspect.ControllerDependencyEdge{
			ControllerName: fmt.Sprintf("c%d", i), ResourceType: "Configs.x", EdgeType: inspect.DependencyEdgeType_INPUT_WEAK,
		})
	}

	svg := draw(t, edges, nil)
	if got, want := strings.Count(svg, "data-f="), 0; got != want {
		t.Errorf("got %d arrows, want %d", got, want)
	}

	if got, want := strings.Count(svg, "← Configs"), maxArrows+1; got != want {
		t.Errorf("got %d readers that name it, want %d", got, want)
	}
}

// TestFarReaders: of a chain of controllers, the last reads what the first writes, which an arrow would cross all for.
func TestFarReaders(t *testing.T) {
	for _, tt := range []struct {
		steps, arrows, names int
	}{
		{2, 5, 0}, {3, 6, 1}, {9, 18, 1},
	} {
		edge := func(controller, typ int, kind inspect.DependencyEdgeType) *inspect.ControllerDependencyEdge {
			return &inspect.ControllerDependencyEdge{
				ControllerName: fmt.Sprintf("c%d", controller), ResourceType: fmt.Sprintf("T%d.x", typ), EdgeType: kind,
			}
		}

		edges := []*inspect.ControllerDependencyEdge{edge(tt.steps, 0, inspect.DependencyEdgeType_INPUT_WEAK)}
		for i := range tt.steps {
			edges = append(edges, edge(i, i, inspect.DependencyEdgeType_OUTPUT_EXCLUSIVE), edge(i+1, i, inspect.DependencyEdgeType_INPUT_STRONG))
		}

		svg := draw(t, edges, nil)
		if got := strings.Count(svg, "data-f="); got != tt.arrows {
			t.Errorf("%d steps: got %d arrows, want %d", tt.steps, got, tt.arrows)
		}

		if got := strings.Count(svg, "← T0"); got != tt.names {
			t.Errorf("%d steps: got %d readers that name the type, want %d", tt.steps, got, tt.names)
		}
	}
}

// TestLayout: in random graphs, with circles and loops, nodes do not overlap, and every line leads to the right but those
// that close a circle.
func TestLayout(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1)) // repeatable
		vertices := make([]*vertex, 2+random.IntN(40))

		for i := range vertices {
			vertices[i] = &vertex{name: fmt.Sprint(i), width: 20 + 100*random.Float64(), height: 10 + 50*random.Float64()}
		}

		var edges [][2]*vertex
		for range random.IntN(100) {
			edges = append(edges, [2]*vertex{vertices[random.IntN(len(vertices))], vertices[random.IntN(len(vertices))]})
		}

		lines, width, height := layout(vertices, edges)

		for i, a := range vertices {
			if a.x < 0 || a.x+a.width > width+0.01 || a.y-a.height/2 < -0.01 || a.y+a.height/2 > height+0.01 {
				t.Errorf("seed %d: node %s is outside of the picture", seed, a.name)
			}

			for _, b := range vertices[:i] {
				if a.x < b.x+b.width && b.x < a.x+a.width && a.y-a.height/2 < b.y+b.height/2-0.01 && b.y-b.height/2 < a.y+a.height/2-0.01 {
					t.Errorf("seed %d: nodes %s and %s overlap", seed, a.name, b.name)
				}
			}
		}

		for _, l := range lines {
			left, right := l.ends()
			if left != right && left.layer >= right.layer {
				t.Errorf("seed %d: the line from %s to %s does not lead to the right", seed, left.name, right.name)
			}

			if got, want := len(l.bends), max(0, right.layer-left.layer-1); got != want {
				t.Errorf("seed %d: the line from %s to %s has %d bends, want %d", seed, left.name, right.name, got, want)
			}
		}
	}
}

// TestCrossings compares the count with one by hand.
func TestCrossings(t *testing.T) {
	a, b, c := &vertex{name: "a"}, &vertex{name: "b"}, &vertex{name: "c"}
	x, y := &vertex{name: "x", layer: 1}, &vertex{name: "y", layer: 1}

	layers := split([]*vertex{a, b, c, x, y}, []*line{{from: a, to: y}, {from: b, to: x}, {from: b, to: y}, {from: c, to: x}})
	if got, want := crossings(layers), 3; got != want {
		t.Errorf("got %d crossings, want %d", got, want)
	}

	orderLayers(layers)

	if got, want := crossings(layers), 0; got != want {
		t.Errorf("ordered: got %d crossings, want %d", got, want)
	}
}

// FuzzSVG: whatever names a machine sends, the picture is XML.
func FuzzSVG(f *testing.F) {
	f.Add("a", "b", "c", uint8(1))
	f.Add("", "", "\x00<&>\"'", uint8(0))
	f.Add("]]>", "\xff", "\\l", uint8(9))

	f.Fuzz(func(t *testing.T, controller, typ, id string, kind uint8) {
		edges := []*inspect.ControllerDependencyEdge{
			{ControllerName: controller, ResourceType: typ, ResourceId: id, EdgeType: inspect.DependencyEdgeType(kind)},
			{ControllerName: typ, ResourceType: controller, EdgeType: inspect.DependencyEdgeType_OUTPUT_SHARED},
			{ControllerName: controller, ResourceType: controller},
		}
		wellFormed(t, draw(t, edges, Resources{{id, typ}: {controller, id}}), "text")
	})
}
