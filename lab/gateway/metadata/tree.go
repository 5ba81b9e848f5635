// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// tree is documents by their path.
type tree map[string]document

type document struct {
	kind string // media type
	body []byte
}

func text(s string) document { return document{"text/plain; charset=utf-8", []byte(s)} }

func lines(list []string) document { return text(strings.Join(list, "\n")) }

func octets(b []byte) document { return document{"application/octet-stream", b} }

// object is a JSON document.
type object = map[string]any

func jsonDocument(v any) document {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("metadata: %v", err)) // not for strings, numbers, and lists and maps of them
	}

	return document{"application/json", b}
}

// yamlDocument is a document in YAML, which clouds call a text.
func yamlDocument(v any) document {
	b, err := yaml.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("metadata: %v", err)) // as in jsonDocument
	}

	return text(string(b))
}

// serve answers with the document at a path. With lists, a folder is answered with the names in it; those of folders
// end with a slash.
func (t tree) serve(w http.ResponseWriter, path string, lists bool) {
	doc, ok := t[path]
	if !ok {
		doc, ok = t[strings.TrimSuffix(path, "/")]
	}

	if !ok && lists {
		names := t.below(path)
		doc, ok = lines(names), len(names) > 0
	}

	if !ok {
		http.Error(w, "404 - Not Found", http.StatusNotFound)

		return
	}

	doc.write(w)
}

func (d document) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", d.kind)
	_, _ = w.Write(d.body) // fails if the client has closed the connection
}

// below returns the names in a folder.
func (t tree) below(folder string) []string {
	folder = strings.TrimSuffix(folder, "/") + "/"
	names := make(map[string]struct{})

	for path := range t {
		if rest, ok := strings.CutPrefix(path, folder); ok && rest != "" {
			name, more, deeper := strings.Cut(rest, "/")
			if deeper && more != "" {
				name += "/"
			}

			names[name] = struct{}{}
		}
	}

	return slices.Sorted(maps.Keys(names))
}

// put adds texts below a path, given as name, text, name, text. Empty ones are left out.
func (t tree) put(path string, facts ...string) {
	for fact := range slices.Chunk(facts, 2) {
		if fact[1] != "" {
			t[path+fact[0]] = text(fact[1])
		}
	}
}

// leaves adds the leaves of nested objects as texts, each at its path.
func (t tree) leaves(path string, value any) {
	switch value := value.(type) {
	case object:
		for name, v := range value {
			t.leaves(path+"/"+name, v)
		}
	case []object:
		for i, v := range value {
			t.leaves(fmt.Sprintf("%s/%d", path, i), v)
		}
	case []string:
		t[path] = lines(value)
	case nil:
	default:
		t.put(path, "", fmt.Sprint(value))
	}
}
