// SPDX-License-Identifier: Apache-2.0

package house

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/seed-59268b81/talos/"

// arrows say what each part of the house may import of the others. Who is not here is not part of the house.
//
//	cmd → machine, apid, ctl, imager, lab → controllers → resources, config, sys → cosi, api
var arrows = map[string][]string{
	"api":     {},
	"version": {},
	"pki":     {},
	// A library on its own: it knows the wire contract and nothing of an operating system.
	"cosi": {"api"},
	// These two are used on laptops too: nothing of the kernel.
	"config":    {"pki", "version"},
	"resources": {"api", "config", "cosi", "pki", "version"},
	// Thin shells over the kernel know nothing of what they are used for.
	"sys": {"api", "cosi"},
	// What runs programs: processes, containers, their logs.
	"service": {"cosi", "sys"},
	"client":  {"api", "config", "pki"},

	"controllers": {"api", "config", "cosi", "pki", "resources", "service", "sys", "version"},

	// What a healthy cluster has, for a node and for a laptop.
	"health": {"config", "cosi", "resources"},

	"apid":      {"api", "controllers", "cosi", "pki", "resources", "sys", "version"},
	"trustd":    {"api", "controllers", "cosi", "pki", "resources", "sys", "version"},
	"discovery": {"api", "version"},
	"machine":   {"api", "apid", "config", "controllers", "cosi", "health", "pki", "resources", "service", "sys", "trustd", "version"},
	"lab":       {"sys", "version"},
	// Of the controllers it has what decides whether a configuration can be carried out.
	"ctl":        {"api", "client", "config", "controllers", "cosi", "health", "lab", "pki", "resources", "version"},
	"imager":     {"components", "config", "machine", "sys", "version"},
	"components": {"config", "imager", "version"},

	"cmd":  nil, // everything
	"test": nil,
}

// kernel is what only knows one kernel.
var kernel = []string{"golang.org/x/sys/unix", "github.com/jsimonetti/rtnetlink", "github.com/mdlayher/"}

// forbidden are the projects whose work this is not.
var forbidden = regexp.MustCompile(`^github\.com/(` + strings.Join([]string{"sidero" + "labs", "talos" + "-systems", "cosi" + "-project"}, "|") + `)(/|$)`)

type goPackage struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

// part is the part of the house that a package belongs to.
func part(importPath string) string {
	inside, _ := strings.CutPrefix(importPath, module)
	first, _, _ := strings.Cut(inside, "/")

	return first
}

var packages = sync.OnceValues(func() ([]goPackage, error) {
	// For the operating system, whatever the tests run on.
	list := exec.Command("go", "list", "-e", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	list.Dir = root
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64")

	out, err := list.StdoutPipe()
	if err != nil {
		return nil, err
	}

	if err := list.Start(); err != nil {
		return nil, err
	}

	var all []goPackage

	for decoder := json.NewDecoder(out); ; {
		var p goPackage

		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all, list.Wait()
		}

		if err != nil {
			return nil, err
		}

		// What was built is no part of the house.
		if part(p.ImportPath) != "out" {
			all = append(all, p)
		}
	}
})

func allPackages(t *testing.T) []goPackage {
	t.Helper()

	all, err := packages()
	if err != nil {
		t.Fatal(err)
	}

	if len(all) < 50 {
		t.Fatalf("only %d packages were found", len(all))
	}

	return all
}

func TestArrows(t *testing.T) {
	for _, p := range allPackages(t) {
		from := part(p.ImportPath)

		allowed, known := arrows[from]
		if !known {
			t.Errorf("%s: %s is not a part of the house; give it its place in this test and in ARCHITECTURE.md", p.ImportPath, from)

			continue
		}

		if allowed == nil {
			continue
		}

		for _, i := range p.Imports {
			if !strings.HasPrefix(i, module) {
				continue
			}

			if to := part(i); to != from && !slices.Contains(allowed, to) {
				t.Errorf("%s imports %s: %s may import only %v", p.ImportPath, i, from, allowed)
			}
		}
	}
}

func TestLaptopPartsKnowNoKernel(t *testing.T) {
	for _, p := range allPackages(t) {
		if from := part(p.ImportPath); from != "config" && from != "resources" && from != "cosi" && from != "client" && from != "api" && from != "pki" {
			continue
		}

		for _, i := range p.Imports {
			if i == "syscall" || slices.ContainsFunc(kernel, func(k string) bool { return strings.HasPrefix(i, k) }) {
				t.Errorf("%s imports %s", p.ImportPath, i)
			}
		}
	}
}

// TestOwnWork refuses imports of the projects that this one is written instead of. Only the test of interoperation, a
// module of its own, uses their clients.
func TestOwnWork(t *testing.T) {
	for _, p := range allPackages(t) {
		for _, i := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if forbidden.MatchString(i) {
				t.Errorf("%s imports %s", p.ImportPath, i)
			}
		}
	}

	each(t, "go.mod", func(path string, text []byte) {
		if strings.HasPrefix(path, "test/interop/") {
			return
		}

		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "require "))
			if forbidden.MatchString(line) {
				t.Errorf("%s requires %s", path, line)
			}
		}
	})
}
