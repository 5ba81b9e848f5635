// SPDX-License-Identifier: Apache-2.0

package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/seed-59268b81/talos/build/hosttools"
)

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// root is the root of the source tree.
var root = filepath.Join("..", "..")

// files returns the paths of all files that are committed or could be.
var files = sync.OnceValues(func() ([]string, error) {
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root

	out, err := list.Output()
	if err != nil {
		return nil, err
	}

	var paths []string

	for p := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		// Git still lists a deleted file before the commit.
		if _, err := os.Lstat(filepath.Join(root, p)); err == nil {
			paths = append(paths, p)
		}
	}

	return paths, nil
})

// each calls fn for every file whose path has the suffix.
func each(t *testing.T, suffix string, fn func(path string, text []byte)) {
	t.Helper()

	all, err := files()
	if errors.Is(err, exec.ErrNotFound) {
		t.Fatalf("%v: %s", err, hosttools.Hint("git"))
	}

	if err != nil {
		t.Skipf("the tree is not a git work tree, so its files are unknown: %v", err)
	}

	count := 0

	for _, p := range all {
		info, err := os.Lstat(filepath.Join(root, p))
		if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(p, suffix) {
			continue
		}

		text, err := os.ReadFile(filepath.Join(root, p))
		if err != nil {
			t.Error(err)
		}

		fn(p, text)

		count++
	}

	if count < 10 {
		t.Errorf("got only %d files", count)
	}
}

func TestGoFilesBeginWithTheirLicence(t *testing.T) {
	each(t, ".go", func(p string, text []byte) {
		if !bytes.HasPrefix(text, []byte("// SPDX-License-Identifier: Apache-2.0\n")) && !generated.Match(text) {
			t.Errorf("%s: the first line is not the SPDX line", p)
		}
	})
}

// TestPackagesSayWhatTheyAre checks that each package has a package comment that begins with its name.
func TestPackagesSayWhatTheyAre(t *testing.T) {
	documented := map[string]bool{}

	each(t, ".go", func(p string, text []byte) {
		if strings.HasSuffix(p, "_test.go") {
			return
		}

		file, err := parser.ParseFile(token.NewFileSet(), p, text, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Error(err)

			return
		}

		dir := path.Dir(p)
		documented[dir] = documented[dir] || generated.Match(text) ||
			file.Doc != nil && len(strings.TrimSpace(file.Doc.Text())) > 0 && !strings.HasPrefix(file.Doc.Text(), "SPDX")

		if named, ok := strings.CutPrefix(file.Doc.Text(), "Package "); ok && !strings.HasPrefix(named, file.Name.Name+" ") {
			t.Errorf("%s: the comment names another package, want %s", p, file.Name.Name)
		}
	})

	for dir, ok := range documented {
		if !ok {
			t.Errorf("package %s has no comment", dir)
		}
	}
}

// TestNothingIsLeftForLater finds marks of unfinished work.
func TestNothingIsLeftForLater(t *testing.T) {
	marks := regexp.MustCompile(`\b(` + "TO" + `DO|` + "FIX" + `ME|` + "XX" + `X)\b`)

	each(t, ".go", func(p string, text []byte) {
		if generated.Match(text) {
			return
		}

		for i, line := range bytes.Split(text, []byte("\n")) {
			if marks.Match(line) {
				t.Errorf("%s:%d: %s", p, i+1, bytes.TrimSpace(line))
			}
		}
	})
}

// TestNamesSayWhat rejects type names that end in a word without meaning, except terms of the field.
func TestNamesSayWhat(t *testing.T) {
	empty := regexp.MustCompile(`(?m)^(?:type |\t)(\w*(?:Manager|Helper|Helpers|Util|Utils|Impl)) (?:struct|interface|func)`)
	field := regexp.MustCompile(`^(?:kube)?[cC]ontrollerManager$`)

	each(t, ".go", func(p string, text []byte) {
		for _, m := range empty.FindAllSubmatch(text, -1) {
			if !field.Match(m[1]) && !generated.Match(text) {
				t.Errorf("%s: type %s", p, m[1])
			}
		}
	})
}

// TestNothingOfThisMachine checks that no file has the path of this tree or the host name of this machine's Go module proxy.
func TestNothingOfThisMachine(t *testing.T) {
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}

	var private []string

	// A path of one element is too common to search for.
	if strings.Count(top, "/") > 1 {
		private = append(private, top+"/")
	}

	if home, err := os.UserHomeDir(); err == nil && strings.Count(home, "/") > 1 {
		private = append(private, home+"/")
	}

	// Go's default is not private.
	out, err := exec.Command("go", "env", "-json", "-changed", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}

	var changed struct{ GOPROXY string }
	if err := json.Unmarshal(out, &changed); err != nil {
		t.Fatal(err)
	}

	for _, proxy := range strings.FieldsFunc(changed.GOPROXY, func(r rune) bool { return r == ',' || r == '|' }) {
		_, host, ok := strings.Cut(proxy, "://")
		host, _, _ = strings.Cut(host, "/")
		_, host, _ = cutUser(host)

		if ok {
			private = append(private, host)
		}
	}

	each(t, "", func(p string, text []byte) {
		for _, s := range private {
			if bytes.Contains(text, []byte(s)) {
				t.Errorf("%s contains %q of this machine", p, s)
			}
		}
	})
}

// cutUser splits USER@HOST. Without a user, host is s.
func cutUser(s string) (user, host string, ok bool) {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		return s[:i], s[i+1:], true
	}

	return "", s, false
}
