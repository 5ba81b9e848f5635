// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/reference/source"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/test/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestFilesAreCurrent(t *testing.T) {
	texts, err := source.Comments("..")
	if err != nil {
		t.Fatal(err)
	}

	schema, err := Schema()
	if err != nil {
		t.Fatal(err)
	}

	for file, want := range map[string][]byte{
		CommentsFile: texts, "../../docs/configuration.schema.json": schema, "../../docs/configuration.md": Page(),
	} {
		got, err := os.ReadFile(filepath.FromSlash(file))
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is not current: run go generate ./config/reference (-want +got):\n%s", file, diff)
		}
	}
}

// TestKindsAreWhole checks what every kind must have, and that its example decodes and is valid.
func TestKindsAreWhole(t *testing.T) {
	for _, k := range Kinds() {
		t.Run(k.Name, func(t *testing.T) {
			if k.About == "" || k.Type.Name() != k.Name && k.Name != v1alpha1.Version {
				t.Errorf("type %s: want a type %s with a comment", k.Type.Name(), k.Name)
			}

			for _, key := range k.Keys {
				if key.About == "" && key.Name != "apiVersion" && key.Name != "kind" {
					t.Errorf("%s has no comment", key.Path)
				}
			}

			if k.Name == v1alpha1.Version {
				return // its example has every key, also those that exclude each other: TestEveryKey
			}

			cfg, err := config.Decode([]byte(k.Example))
			if err != nil {
				t.Fatal(err)
			}

			for _, d := range cfg.Documents() {
				if d.Kind() != k.Name {
					t.Errorf("the example has a document %s", d.Kind())
				}

				if r := document.Check(d); len(r.Findings) > 0 {
					t.Errorf("the example is not valid: %v", r.Findings)
				}
			}

			for _, key := range k.Replaces {
				if !hasKey(key) {
					t.Errorf("it replaces %s, which is not a key of the %s document", key, v1alpha1.Version)
				}
			}
		})
	}
}

// TestEveryKind: the format has 89 kinds beside the main document.
func TestEveryKind(t *testing.T) {
	if got := len(Kinds()) - 1; got != 89 {
		t.Errorf("got %d kinds, want 89", got)
	}
}

// TestExamplesAreFound checks that each kind has an example of its own.
func TestExamplesAreFound(t *testing.T) {
	for _, k := range Kinds()[1:] {
		if !strings.Contains(k.Example, "kind: "+k.Name) {
			t.Errorf("%s has no example", k.Name)
		}
	}
}

func hasKey(path string) bool {
	for _, key := range Kinds()[0].Keys {
		if strings.ReplaceAll(key.Path, "[]", "") == path {
			return true
		}
	}

	return false
}

// TestObjects: an object has an effect only if something in it has one.
func TestObjects(t *testing.T) {
	keys := []Key{
		{Path: "a", Effective: true}, {Path: "a.b"}, {Path: "a.c", Effective: true}, {Path: "a.c[].d"}, {Path: "ab", Effective: true},
		{Path: "e", Effective: true}, {Path: "e[].f", Effective: true}, {Path: "g", Effective: true},
	}

	objects(keys)

	var got []string

	for _, k := range keys {
		if k.Effective {
			got = append(got, k.Path)
		}
	}

	if diff := cmp.Diff([]string{"a", "ab", "e", "e[].f", "g"}, got); diff != "" {
		t.Errorf("keys in effect (-want +got):\n%s", diff)
	}
}
