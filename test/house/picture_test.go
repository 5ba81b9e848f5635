// SPDX-License-Identifier: Apache-2.0

package house

import (
	"encoding/xml"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

//go:generate go test -run TestPictureOfFolders -update .

var update = flag.Bool("update", false, "write the picture of folders and imports")

// picture is in ARCHITECTURE.md.
const picture = "docs/images/folders.svg"

// reduced returns the graph without the arrows between folders that a longer way connects too. The graph has no cycle.
func reduced(imports map[string]map[string]bool) map[string][]string {
	below := map[string]map[string]bool{} // all that a folder reaches

	var reach func(folder string) map[string]bool

	reach = func(folder string) map[string]bool {
		if below[folder] == nil {
			below[folder] = map[string]bool{}

			for to := range imports[folder] {
				below[folder][to] = true
				maps.Copy(below[folder], reach(to))
			}
		}

		return below[folder]
	}

	arrows := map[string][]string{}

	for folder, direct := range imports {
		arrows[folder] = nil

		for _, to := range slices.Sorted(maps.Keys(direct)) {
			longer := false
			for via := range direct {
				longer = longer || via != to && reach(via)[to]
			}

			if !longer {
				arrows[folder] = append(arrows[folder], to)
			}
		}
	}

	return arrows
}

// drawn returns the folders of the picture and their arrows. Tests are no part of it.
func drawn(t *testing.T) map[string][]string {
	t.Helper()

	imports := folders(allPackages(t))
	delete(imports, "test")

	return reduced(imports)
}

// dot writes the graph in the language of graphviz.
func dot(graph map[string][]string) string {
	var b strings.Builder

	b.WriteString("digraph folders {\n\tnode [shape=box, style=\"rounded,filled\", fillcolor=\"#eef3fa\", fontname=\"sans-serif\"];\n")

	for _, folder := range slices.Sorted(maps.Keys(graph)) {
		fmt.Fprintf(&b, "\t%q;\n", folder)

		for _, to := range graph[folder] {
			fmt.Fprintf(&b, "\t%q -> %q;\n", folder, to)
		}
	}

	b.WriteString("}\n")

	return b.String()
}

// readPicture returns the graph that the SVG of graphviz shows.
func readPicture(svg []byte) (map[string][]string, error) {
	var file struct {
		Groups []struct {
			Class string `xml:"class,attr"`
			Title string `xml:"title"`
		} `xml:"g>g"`
	}

	if err := xml.Unmarshal(svg, &file); err != nil {
		return nil, err
	}

	graph := map[string][]string{}

	for _, g := range file.Groups {
		switch from, to, _ := strings.Cut(g.Title, "->"); g.Class {
		case "node":
			graph[from] = append([]string(nil), graph[from]...)
		case "edge":
			graph[from] = append(graph[from], to)
		}
	}

	for _, to := range graph {
		slices.Sort(to)
	}

	return graph, nil
}

// TestPictureOfFolders compares the picture in ARCHITECTURE.md with the imports.
func TestPictureOfFolders(t *testing.T) {
	want := drawn(t)
	path := filepath.Join(root, picture)

	if *update {
		draw := exec.Command("dot", "-Tsvg", "-o", path)
		draw.Stdin = strings.NewReader(dot(want))

		if out, err := draw.CombinedOutput(); err != nil {
			t.Fatalf("dot: %v: %s", err, out)
		}
	}

	svg, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	got, err := readPicture(svg)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s is not what the folders import (-imports +picture):\n%srun go generate ./test/house", picture, diff)
	}
}

func TestReduced(t *testing.T) {
	set := func(names ...string) map[string]bool {
		s := map[string]bool{}
		for _, name := range names {
			s[name] = true
		}

		return s
	}

	got := reduced(map[string]map[string]bool{"a": set("b", "c", "d"), "b": set("c"), "c": set("d"), "d": set(), "e": set("d")})
	want := map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"d"}, "d": nil, "e": {"d"}}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
