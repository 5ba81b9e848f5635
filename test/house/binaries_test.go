// SPDX-License-Identifier: Apache-2.0

package house

import (
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// never are packages that a program must not contain, directly or indirectly, including those below them, each with the reason.
var never = map[string]map[string]string{
	"cmd/talosctl": {
		module + "machine":     "process 1 is the machine's",
		module + "apid":        "a server of the machine",
		module + "trustd":      "a server of the machine",
		module + "service":     "runs the machine's programs; brings containerd's client",
		module + "build/graph": "talosctl starts the built images, and builds nothing",
		module + "build/image": "talosctl starts the built images, and builds nothing",
		module + "sys/netlink": "talosctl changes no network of the computer it runs on",
		// Of the controllers, it uses the pure functions that check whether a configuration can be applied.
		module + "cosi/controller": "talosctl reads resources, but runs no controller",
		module + "cosi/runtime":    "talosctl reads resources, but runs no controller",
		module + "cosi/memory":     "talosctl reads resources, but stores none",

		"github.com/containerd/containerd": "containers are reached through the machine's API",
		"go.etcd.io/etcd":                  "etcd is reached through the machine's API",
		"k8s.io/api":                       "the types of all of Kubernetes are megabytes; what it needs it reads as JSON",
		"testing":                          "adds its flags to every program",
	},
	"cmd/talos": {
		module + "ctl":    "the user's side",
		module + "client": "the user's side; the machine's servers do not call each other through it",
		module + "lab":    "for the developer's computer",
		module + "build":  "for the developer's computer",

		"github.com/spf13/cobra":                 "the machine has no command line",
		"charm.land":                             "the machine has no terminal user interface",
		"gvisor.dev/gvisor":                      "a network stack in user space, for the lab",
		"github.com/google/go-containerregistry": "for building images; containerd pulls them",
		"github.com/prometheus/client_golang":    "for users of package cosi; process 1 has no metrics endpoint, and it would cost memory",
		"k8s.io/api":                             "the types of all of Kubernetes are megabytes in process 1; what it needs is in controllers/k8s",
		"k8s.io/client-go":                       "adds a third to the size of the one program",
		"filippo.io/age":                         "support bundles and secrets are encrypted by talosctl",
		"testing":                                "adds its flags to every program",
	},
	// The initramfs is loaded into memory with the kernel, and these programs run before all others.
	"cmd/init": {
		module + "api":         "init makes no requests",
		module + "config":      "init reads no configuration",
		module + "resources":   "init has no state to react to",
		module + "controllers": "init has no state to react to",
		module + "service":     "init starts one program",

		"net/http":                   "2 MB; init opens no connection",
		"crypto/tls":                 "2 MB; init opens no connection",
		"google.golang.org/grpc":     "init makes no requests",
		"google.golang.org/protobuf": "init makes no requests",
		"text/template":              "calls methods by name, so that the linker cannot remove unused ones",
		"testing":                    "adds its flags to every program",
	},
	"cmd/modprobe": {
		module + "cosi":    "it loads a module and exits",
		module + "machine": "it loads a module and exits",
		module + "api":     "it loads a module and exits",

		"net":                    "the kernel runs it often, and it mostly needs its startup time",
		"os/exec":                "it starts nothing",
		"log/slog":               "the kernel reads its exit code; it writes at most a line",
		"encoding/json":          "the kernel's lists of modules are text",
		"google.golang.org/grpc": "it makes no requests",
		"text/template":          "calls methods by name, so that the linker cannot remove unused ones",
		"testing":                "adds its flags to every program",
	},
	"cmd/sandbox": {
		module + "cosi":    "it creates a sandbox and executes the program in it",
		module + "machine": "it creates a sandbox and executes the program in it",
		module + "api":     "it creates a sandbox and executes the program in it",

		"net":                    "the API waits for it: a small program starts faster. The sandbox has no network of its own",
		"os/exec":                "it starts no process: it executes the program",
		"regexp":                 "the initialization of its tables would be most of the startup time",
		"compress/flate":         "it reads nothing compressed",
		"google.golang.org/grpc": "it makes no requests",
		"text/template":          "calls methods by name, so that the linker cannot remove unused ones",
		"testing":                "adds its flags to every program",
	},
}

// below reports whether a package has the path or is below it.
func below(importPath, path string) bool {
	return importPath == path || strings.HasPrefix(importPath, path+"/")
}

// contents returns the packages of a program, each with its imports.
func contents(t *testing.T, program string) map[string][]string {
	t.Helper()

	imports := map[string][]string{}

	for _, line := range listed(t, "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./"+program) {
		fields := strings.Fields(line)
		imports[fields[0]] = fields[1:]
	}

	return imports
}

// listed returns the output lines of go list -deps.
func listed(t *testing.T, args ...string) []string {
	t.Helper()

	list := exec.Command("go", append([]string{"list", "-deps"}, args...)...)
	list.Dir = root
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64")

	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}

	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// chain returns a shortest chain of imports from one package to another.
func chain(imports map[string][]string, from, to string) []string {
	by := map[string]string{from: ""}

	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		for _, next := range imports[queue[0]] {
			if _, seen := by[next]; !seen {
				by[next] = queue[0]
				queue = append(queue, next)
			}
		}
	}

	var way []string
	for at := to; at != ""; at = by[at] {
		way = append(way, at)
	}

	slices.Reverse(way)

	return way
}

func TestProgramsContainNothingBanned(t *testing.T) {
	for program, banned := range never {
		imports := contents(t, program)

		for p := range imports {
			for path, why := range banned {
				if below(p, path) {
					t.Errorf("%s contains %s: %s\n\t%s", program, p, why, strings.Join(chain(imports, module+program, p), "\n\t→ "))
				}
			}
		}
	}
}

// TestBannedPackagesExist finds misspelled paths: it rejects packages that no code imports.
func TestBannedPackagesExist(t *testing.T) {
	all := listed(t, "-test", "./...")

	for program, banned := range never {
		for _, path := range slices.Sorted(maps.Keys(banned)) {
			if !slices.ContainsFunc(all, func(p string) bool { return below(p, path) }) {
				t.Errorf("%s must not contain %s, but no code imports that package: is it misspelled?", program, path)
			}
		}
	}
}
