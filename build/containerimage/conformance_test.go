// SPDX-License-Identifier: Apache-2.0

package containerimage

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/ociimage"
	"github.com/seed-59268b81/talos/config/images"
)

func TestRecipesAreTheImagesOfConformance(t *testing.T) {
	var got []string
	for _, r := range conformanceRecipes() {
		got = append(got, r.reference)
	}

	want := images.Conformance()
	slices.Sort(want)
	slices.Sort(got)

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("images (-config/images +built):\n%s", diff)
	}

	for _, ref := range images.Cache() {
		if slices.Contains(want, ref) {
			t.Errorf("%s is in the nodes' cache, and built again for the tests", ref)
		}
	}
}

// releaseImages returns the images that Kubernetes' end-to-end tests use, by their name in the tests, from
// test/utils/image/manifest.go of the release.
func releaseImages(t *testing.T) map[string]string {
	t.Helper()

	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(releaseSource(t), "test/utils/image/manifest.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}

	var (
		registries = map[string]string{}
		found      = map[string]string{}
	)

	ast.Inspect(file, func(n ast.Node) bool {
		if kv, ok := n.(*ast.KeyValueExpr); ok { // the fields of initRegistry
			if key, ok := kv.Key.(*ast.Ident); ok {
				registries[key.Name] = text(kv.Value)
			}
		}

		assign, ok := n.(*ast.AssignStmt) // configs[BusyBox] = Config{list.PromoterE2eRegistry, "busybox", "1.37.0-1"}
		if !ok || len(assign.Lhs) != 1 {
			return true
		}

		index, ok := assign.Lhs[0].(*ast.IndexExpr)
		if !ok {
			return true
		}

		config, ok := assign.Rhs[0].(*ast.CompositeLit)
		id, isName := index.Index.(*ast.Ident)

		if !ok || !isName || len(config.Elts) != 3 {
			return true
		}

		registry, ok := config.Elts[0].(*ast.SelectorExpr)
		if !ok {
			t.Errorf("image %s: the registry is not a field of the list", id.Name)

			return true
		}

		found[id.Name] = registries[registry.Sel.Name] + "/" + text(config.Elts[1]) + ":" + text(config.Elts[2])

		return true
	})

	if len(found) < 20 {
		t.Fatalf("images in the release's list: got %d, want over 20", len(found))
	}

	return found
}

// text returns the value of a string literal.
func text(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok {
		return ""
	}

	value, _ := strconv.Unquote(lit.Value)

	return value
}

func TestEveryImageOfTheReleaseIsBuiltOrUnfilled(t *testing.T) {
	release := releaseImages(t)
	have := append(images.Cache(), images.Conformance()...)

	for name, ref := range release {
		filled := slices.Contains(have, ref)

		switch reason := unfilled[name]; {
		case filled && reason != "":
			t.Errorf("%s (%s) is built, but is in unfilled: %s", name, ref, reason)
		case !filled && reason == "":
			t.Errorf("%s: the tests of %s use %s: add a recipe, or a reason to unfilled", name, images.KubernetesVersion, ref)
		}
	}

	for name := range unfilled {
		if release[name] == "" {
			t.Errorf("%s is in unfilled, but not in the release", name)
		}
	}

	for _, ref := range images.Conformance() {
		if !slices.Contains(slices.Collect(maps.Values(release)), ref) {
			t.Errorf("%s is built, but no test of the release uses it", ref)
		}
	}
}

func TestConformanceDocNamesEveryImage(t *testing.T) {
	raw, err := os.ReadFile("../../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}

	doc := string(raw)

	for _, ref := range images.Conformance() {
		if name := ref[strings.Index(ref, "/")+1:]; !strings.Contains(doc, "`"+name+"`") {
			t.Errorf("docs/conformance.md does not name %s", name)
		}
	}

	for name, reason := range unfilled {
		if !strings.Contains(doc, name) || !strings.Contains(doc, reason) {
			t.Errorf("docs/conformance.md does not have %s with the reason: %s", name, reason)
		}
	}
}

func TestConformanceLayoutHasAllImages(t *testing.T) {
	layout, ok := layouts(t)[artifact.TargetConformanceImages]
	if !ok {
		t.Skip("not built; run make conformance-images")
	}

	index, err := ociimage.ReadIndex(layout)
	if err != nil {
		t.Fatal(err)
	}

	var got []string
	for _, d := range index {
		got = append(got, d.Annotations[ociimage.RefName])
	}

	want := append(images.Cache(), images.Conformance()...)
	slices.Sort(want)

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("images in the layout (-config/images +built):\n%s", diff)
	}
}
