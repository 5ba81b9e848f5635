// SPDX-License-Identifier: Apache-2.0

package house

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/seed-59268b81/talos/"

const apiContract = "api/contract"

// arrows are the parts that each part of the house may import. Every folder belongs to a part. If both a folder and its parent are
// here, they are separate parts: a permission for one does not include the other.
//
//	cmd → machine, apid, ctl, build, lab → controllers → resources, config, sys → cosi, api
var arrows = map[string][]string{
	"api":     {},
	"version": {},
	// Facts with one owner: data only.
	"layout":    {},
	"durable":   {},
	apiContract: {"layout"},
	"pki":       {},
	// An independent library: it uses the wire contract and nothing of an operating system.
	"cosi": {"api"},
	// These two are also used on laptops: nothing of the kernel.
	"config":    {apiContract, "durable", "layout", "pki", "version"},
	"resources": {"config", "cosi", "layout"},
	// Thin shells over the kernel. They do not depend on their users.
	"sys": {"cosi", "durable", "layout"},
	// A system onto a disk, its boot loaders, and whether a change of it stays. For the build too.
	"install": {"layout", "sys", "version"},
	// Runs programs: processes, containers, their logs.
	"service": {"cosi", "durable", "layout", "pki", "sys"},
	"client":  {"api", "config", apiContract, "pki"},

	"controllers": {"api", apiContract, "config", "cosi", "discovery", "durable", "install", "kube", "layout", "pki", "resources", "service", "sys", "version"},

	// The discovery service and its client, for a node, for the service on its own, and for a laptop.
	"discovery": {"api", apiContract, "cosi", "durable", "pki", "resources", "sys"},

	// One client of Kubernetes, for a node and for a laptop.
	"kube": {"durable", "pki"},

	// Health checks of a cluster, for a node and for a laptop.
	"health": {"config", "cosi", "resources"},

	"apid":    {"api", apiContract, "cosi", "resources", "sys"},
	"trustd":  {"api", apiContract, "cosi", "pki", "resources", "sys"},
	"machine": {"api", "apid", "config", apiContract, "controllers", "cosi", "discovery", "health", "install", "kube", "layout", "pki", "resources", "service", "sys", "trustd", "version"},
	"lab":     {apiContract, "durable", "layout", "sys"},
	// A client of the system on the lab's machines. Package lab itself does not depend on that system.
	"lab/cluster": {"api", apiContract, "client", "config", "kube", "lab", "pki"},
	// Of the controllers, it uses the functions that check whether a configuration can be applied.
	"ctl":   {"api", apiContract, "build/artifact", "client", "config", "controllers", "cosi", "durable", "health", "kube", "lab", "lab/cluster", "layout", "pki", "resources", "version"},
	"build": {"build/artifact", "config", "install", "layout", "machine", "pki", "sys", "version"},
	// The results of a build, for programs that do not link the build.
	"build/artifact": {"version"},

	"cmd":  nil, // everything
	"test": nil,
}

// kernel are packages for one kernel only.
var kernel = []string{"golang.org/x/sys/unix", "github.com/jsimonetti/rtnetlink", "github.com/mdlayher/"}

// forbidden matches the projects whose code we must not use.
var forbidden = regexp.MustCompile(`^github\.com/(` + strings.Join([]string{"sidero" + "labs", "talos" + "-systems", "cosi" + "-project"}, "|") + `)(/|$)`)

type goPackage struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

// part returns the part of the house that a package belongs to.
func part(importPath string) string {
	inside, _ := strings.CutPrefix(importPath, module)

	for folder := inside; folder != "."; folder = path.Dir(folder) {
		if _, known := arrows[folder]; known {
			return folder
		}
	}

	first, _, _ := strings.Cut(inside, "/")

	return first
}

var packages = sync.OnceValues(func() ([]goPackage, error) {
	// For the operating system's platform, not the host's.
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

		all = append(all, p)
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
			t.Errorf("%s: %s is not a part of the house: add it to this test and to ARCHITECTURE.md", p.ImportPath, from)

			continue
		}

		if allowed == nil {
			continue
		}

		for _, i := range p.Imports {
			if !strings.HasPrefix(i, module) {
				continue
			}

			to := part(i)

			if to != from && !slices.Contains(allowed, to) {
				t.Errorf("%s imports %s: %s may import only %v", p.ImportPath, i, from, allowed)
			}
		}
	}
}

// TestControllersReadTheView checks that code that applies a configuration reads config/view and not the documents, so that one place
// decides which document wins. Code that reads a document needs its type, so the test looks for imports of the types' package.
func TestControllersReadTheView(t *testing.T) {
	documents := module + "config/v1alpha1"

	for _, p := range allPackages(t) {
		if slices.Contains([]string{"controllers", "machine", "apid", "trustd", "health", "resources"}, part(p.ImportPath)) && slices.Contains(p.Imports, documents) {
			t.Errorf("%s imports %s: read config/view", p.ImportPath, documents)
		}
	}
}

// TestArrowsAreUsed rejects unused permissions: they would allow imports that no one has decided on.
func TestArrowsAreUsed(t *testing.T) {
	used := folders(allPackages(t))

	for from, allowed := range arrows {
		if _, exists := used[from]; !exists {
			t.Errorf("there is no folder %s", from)
		}

		for _, to := range allowed {
			if !used[from][to] {
				t.Errorf("%s may import %s, but does not: remove it from arrows", from, to)
			}
		}
	}
}

// TestLaptopPartsKnowNoKernel: package bolt alone uses syscall, for the flag of a file whose writes are durable, which os lacks; it has another
// one for other systems.
func TestLaptopPartsKnowNoKernel(t *testing.T) {
	for _, p := range allPackages(t) {
		if from := part(p.ImportPath); from != "config" && from != "resources" && from != "cosi" && from != "client" && from != "kube" && from != "api" && from != "pki" {
			continue
		}

		for _, i := range p.Imports {
			if i == "syscall" && !strings.HasSuffix(p.ImportPath, "/cosi/bolt") || slices.ContainsFunc(kernel, func(k string) bool { return strings.HasPrefix(i, k) }) {
				t.Errorf("%s imports %s", p.ImportPath, i)
			}
		}
	}
}

// TestOwnWork rejects imports of the projects that this one replaces. Only the interoperation test, a separate module, uses
// their clients.
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
