// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// fact is a kind of literal that only one package may have.
type fact struct {
	name  string
	owner string
	// text matches the values of strings, and number the source text of integers.
	text, number *regexp.Regexp
	// importing limits the rule to files that import this package, if the literal has other meanings elsewhere.
	importing string
	// others are files and folders where the literal has another meaning, with that meaning.
	others map[string]string
}

var facts = []fact{
	{
		name: "role", owner: "api/contract",
		text: regexp.MustCompile(`\bos:(admin|operator|reader|etcd:backup|image:verifier|meta:writer|impersonator)\b`),
	},
	{name: "metadata key", owner: "api/contract", text: regexp.MustCompile(`^(talos-role|proxyfrom)$`)},
	{name: "metadata key", owner: "api/contract", text: regexp.MustCompile(`^(node|nodes|token)$`), importing: "google.golang.org/grpc/metadata"},
	{
		name: "port of the API", owner: "api/contract",
		text: regexp.MustCompile(`\b5000[01]\b`), number: regexp.MustCompile(`^5000[01]$`),
		others: map[string]string{"build/containerimage/images.go": "a group in a test image of Kubernetes"},
	},
	{
		// Examples in help texts show Kubernetes' port.
		name: "port", owner: "api/contract",
		text: regexp.MustCompile(`:(2379|2380|7445|10250)\b`), number: regexp.MustCompile(`^(6443|7445|2379|2380|10250)$`),
	},
	{name: "socket", owner: "api/contract", text: regexp.MustCompile(`/(machine|runtime)\.sock$`)},
	{name: "socket", owner: "layout", text: regexp.MustCompile(`/containerd\.sock$`)},
	{
		name: "label of a partition", owner: "layout", text: regexp.MustCompile(`^(EFI|META|STATE|EPHEMERAL|IMAGECACHE)$`),
		others: map[string]string{"ctl": "the title of a column"},
	},
	{
		name: "folder", owner: "layout", text: regexp.MustCompile(`^/(system|var)(/(lib/(containerd|etcd|kubelet|cni)|log|mnt|run|etc|state|secrets|config|resolved|imagecache)\b.*)?$`),
		others: map[string]string{
			"controllers/k8s/kubelet/doc.go": "a cgroup", "config/talosconfig/file.go": "where Kubernetes shows a pod its secrets",
			"sys/netns/netns.go": "where ip(8) and container engines name network namespaces",
		},
	},
	{
		name: "user", owner: "layout", text: regexp.MustCompile(`(?m)^\w+:x:[1-9]\d*:`), number: regexp.MustCompile(`^65534$`),
		others: map[string]string{
			"build": "users of container images", "resources/network/nethelpers/link.go": "a link type of the kernel",
		},
	},
}

// owned returns the fact that a literal of a file is, if any.
func owned(l *ast.BasicLit, imports []string) (fact, bool) {
	for _, f := range facts {
		if f.importing != "" && !slices.Contains(imports, f.importing) {
			continue
		}

		switch l.Kind {
		case token.STRING:
			if text, err := strconv.Unquote(l.Value); err == nil && f.text != nil && f.text.MatchString(text) {
				return f, true
			}
		case token.INT:
			if f.number != nil && f.number.MatchString(l.Value) {
				return f, true
			}
		}
	}

	return fact{}, false
}

// userIDs returns the integers that are used as ids of users or groups, other than root's.
func userIDs(n ast.Node) (found []*ast.BasicLit) {
	add := func(name string, values ...ast.Expr) {
		for _, v := range values {
			if l, ok := v.(*ast.BasicLit); ok && l.Kind == token.INT && l.Value != "0" && userName.MatchString(name) {
				found = append(found, l)
			}
		}
	}

	switch n := n.(type) {
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok {
			add(key.Name, n.Value)
		}
	case *ast.ValueSpec:
		for _, name := range n.Names {
			add(name.Name, n.Values...)
		}
	case *ast.CallExpr:
		if fn, ok := n.Fun.(*ast.SelectorExpr); ok {
			add(fn.Sel.Name, n.Args...)
		}
	}

	return found
}

var userName = regexp.MustCompile(`(^|[a-z])(UID|GID|Uid|Gid)$|[cC]hown$`)

// TestFactsHaveOneOwner checks that a role, port, label, path or user is a constant of one package, and that other packages use
// this constant. Tests repeat the values on purpose: existing clients and disks have them.
func TestFactsHaveOneOwner(t *testing.T) {
	seen, other := map[string]bool{}, map[string]bool{}

	each(t, ".go", func(file string, text []byte) {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "test/") || strings.Contains(file, "/testdata/") || generated.Match(text) {
			return
		}

		files := token.NewFileSet()

		parsed, err := parser.ParseFile(files, file, text, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)

			return
		}

		var imports []string

		skip := map[ast.Node]bool{}

		for _, i := range parsed.Imports {
			p, _ := strconv.Unquote(i.Path.Value)
			imports, skip[i.Path] = append(imports, p), true
		}

		ast.Inspect(parsed, func(n ast.Node) bool {
			if path.Dir(file) != "layout" {
				for _, l := range userIDs(n) {
					t.Errorf("%s: user id %s: want the constant of layout", files.Position(l.Pos()), l.Value)
				}
			}

			if f, ok := n.(*ast.Field); ok && f.Tag != nil {
				skip[f.Tag] = true
			}

			l, ok := n.(*ast.BasicLit)
			if !ok || skip[l] {
				return true
			}

			f, ok := owned(l, imports)
			if !ok {
				return true
			}

			if path.Dir(file) == f.owner {
				seen[f.name+f.owner] = true

				return true
			}

			for where := range f.others {
				if file == where || strings.HasPrefix(file, where+"/") {
					other[f.name+where] = true

					return true
				}
			}

			t.Errorf("%s: %s %s: want the constant of %s", files.Position(l.Pos()), f.name, l.Value, f.owner)

			return true
		})
	})

	for _, f := range facts {
		if f.importing == "" && !seen[f.name+f.owner] {
			t.Errorf("%s: %s does not have it", f.name, f.owner)
		}

		for where := range f.others {
			if !other[f.name+where] {
				t.Errorf("%s: %s does not have the literal with another meaning: remove it from this test", f.name, where)
			}
		}
	}
}

// TestFactsAreData checks that programs can use the facts at no cost.
func TestFactsAreData(t *testing.T) {
	want := map[string][]string{"layout": nil, apiContract: {module + "layout"}}

	for _, p := range allPackages(t) {
		inside := strings.TrimPrefix(p.ImportPath, module)
		if imports, ok := want[inside]; ok {
			delete(want, inside)

			if !slices.Equal(p.Imports, imports) {
				t.Errorf("%s: got imports %v, want %v", inside, p.Imports, imports)
			}
		}
	}

	for inside := range want {
		t.Errorf("there is no package %s", inside)
	}
}

// renames are files whose renames do not replace a file that other programs read, with the reason.
var renames = map[string]string{
	"controllers/etcd/restore.go": "a folder that etcd's tool has made",
	"controllers/etcd/discard.go": "a folder that nothing uses any more",
	"build":                       "parts of the build, which are made again when it is cut off",
	"lab/container/image.go":      "a folder of an unpacked image",
	"lab/machine/console.go":      "the log of a console, which is rotated",
}

// TestFilesAreReplacedByOneRule checks that only package durable implements the replacement of files.
func TestFilesAreReplacedByOneRule(t *testing.T) {
	call := regexp.MustCompile(`\b(os\.(Rename|CreateTemp)|unix\.Rename\w*)\(`)
	seen := map[string]bool{}

	each(t, ".go", func(file string, text []byte) {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "test/") || strings.HasPrefix(file, "durable/") || !call.Match(text) {
			return
		}

		for where := range renames {
			if file == where || strings.HasPrefix(file, where+"/") {
				seen[where] = true

				return
			}
		}

		t.Errorf("%s: %s: use a function of package durable", file, call.Find(text))
	})

	for where := range renames {
		if !seen[where] {
			t.Errorf("%s does not rename files: remove it from this test", where)
		}
	}
}
