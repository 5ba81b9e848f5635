// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// ofProcess are names of net/http that use the proxies which the process had at its first request, and the authorities that it read then.
var ofProcess = []string{"DefaultClient", "DefaultTransport", "ProxyFromEnvironment", "Get", "Head", "Post", "PostForm"}

// ofMachine are the parts of the house that run on a machine, whose configuration changes both.
var ofMachine = []string{"apid/", "controllers/", "machine/", "service/", "sys/", "trustd/"}

// outboundOwners are the files that may use these names.
var outboundOwners = map[string]string{
	"sys/outbound/outbound.go":   "makes clients that follow the configuration",
	"sys/platform/cloud/http.go": "a cloud's server is asked without a proxy, with the authorities of the image",
}

// TestOutboundClients checks that programs of a machine make requests over HTTP with clients that follow the configuration, or with a
// transport of their own.
func TestOutboundClients(t *testing.T) {
	used := map[string]bool{}

	each(t, ".go", func(file string, text []byte) {
		if strings.HasSuffix(file, "_test.go") || !slices.ContainsFunc(ofMachine, func(part string) bool { return strings.HasPrefix(file, part) }) {
			return
		}

		files := token.NewFileSet()

		parsed, err := parser.ParseFile(files, file, text, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)

			return
		}

		ast.Inspect(parsed, func(n ast.Node) bool {
			what := sharedClient(n)
			if what == "" {
				return true
			}

			if _, ok := outboundOwners[file]; ok {
				used[file] = true
			} else {
				t.Errorf("%s: %s reads proxies and authorities once: want package outbound, or a transport without a proxy", files.Position(n.Pos()), what)
			}

			return true
		})
	})

	for file := range outboundOwners {
		if !used[file] {
			t.Errorf("%s has no client of its own: remove it from this test", file)
		}
	}
}

// sharedClient returns the name of what uses the settings of the process, or an empty string.
func sharedClient(n ast.Node) string {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		if of, ok := n.X.(*ast.Ident); ok && of.Name == "http" && slices.Contains(ofProcess, n.Sel.Name) {
			return "http." + n.Sel.Name
		}
	case *ast.CompositeLit:
		kind, ok := n.Type.(*ast.SelectorExpr)
		if !ok || kind.Sel.Name != "Client" {
			return ""
		}

		if of, ok := kind.X.(*ast.Ident); !ok || of.Name != "http" {
			return ""
		}

		if !slices.ContainsFunc(n.Elts, func(e ast.Expr) bool {
			pair, ok := e.(*ast.KeyValueExpr)
			if !ok {
				return false
			}

			key, ok := pair.Key.(*ast.Ident)

			return ok && key.Name == "Transport"
		}) {
			return "an http.Client without a Transport"
		}
	}

	return ""
}

func TestSharedClient(t *testing.T) {
	for text, want := range map[string]string{
		"http.DefaultClient.Do(r)":               "http.DefaultClient",
		"&http.Client{Timeout: 1}":               "an http.Client without a Transport",
		"http.Client{}":                          "an http.Client without a Transport",
		"&http.Client{Transport: own}":           "",
		"&dns.Client{}":                          "",
		"&http.Transport{Proxy: outbound.Proxy}": "",
	} {
		e, err := parser.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}

		got := ""

		ast.Inspect(e, func(n ast.Node) bool {
			if n != nil && got == "" {
				got = sharedClient(n)
			}

			return true
		})

		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
