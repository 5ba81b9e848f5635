// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"
	"testing"
)

// alias returns the only permitted alias of one of our packages, for files where its name is ambiguous: resources/time is timeres,
// controllers/time is timectl, api/time is timeapi; otherwise the folder's name comes first: cosi/runtime is cosiruntime.
func alias(inside string) string {
	folder, base := path.Split(inside)
	parent := path.Base(folder)

	switch {
	case strings.HasPrefix(inside, "api/"):
		if base == "v1alpha1" {
			base = parent
		}

		return base + "api"
	case folder == "resources/":
		return base + "res"
	case folder == "controllers/":
		return base + "ctl"
	default:
		return parent + base
	}
}

func TestAliases(t *testing.T) {
	count := 0

	each(t, ".go", func(file string, text []byte) {
		if generated.Match(text) {
			return
		}

		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}

		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}

			inside, ours := strings.CutPrefix(imported, module)
			if !ours || spec.Name == nil || spec.Name.Name == "_" || spec.Name.Name == path.Base(inside) {
				continue
			}

			count++

			if got, want := spec.Name.Name, alias(inside); got != want {
				t.Errorf("%s imports %s as %s, want its own name or %s", file, inside, got, want)
			}
		}
	})

	if count < 20 {
		t.Errorf("only %d aliases were found", count)
	}
}
