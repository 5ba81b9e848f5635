// SPDX-License-Identifier: Apache-2.0

// Package hosttest finds the programs that tests call. If a program is missing, a test fails and names the package to
// install. It is not skipped, because a test that is always skipped seems to pass. Only the results of the build may be
// missing: go test skips tests without them, and make test, which builds first, fails. Only tests import this package.
package hosttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/hosttools"
)

// Require is the environment variable that make test sets: everything is built.
const Require = "TALOS_E2E"

// Need returns the path of a program. It fails the test if the program is missing.
func Need(t testing.TB, name string) string {
	t.Helper()

	path, err := hosttools.LookPath(name)
	if err != nil {
		t.Fatalf("%s is not installed: %s", name, hosttools.Hint(name))
	}

	return path
}

// Built returns the path of a program that this project builds. It skips the test in a tree without a build.
func Built(t testing.TB, name string) string {
	t.Helper()

	path, err := Find(name)
	if err != nil {
		NotBuilt(t, err)
	}

	return path
}

// NotBuilt skips a test that needs a build, or fails it if everything must be built.
func NotBuilt(t testing.TB, err error) {
	t.Helper()

	if os.Getenv(Require) != "" {
		t.Fatal(err)
	}

	t.Skip(err)
}

// Find returns the path of a program that this project builds. It looks in the environment variable with the program's name in
// capitals, in the output folder, and in PATH.
func Find(name string) (string, error) {
	variable := strings.ToUpper(name)
	candidates := []string{os.Getenv(variable)}

	for dir, err := os.Getwd(); err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		candidates = append(candidates, artifact.Of(dir).Component(name))
	}

	candidates = append(candidates, name)

	for _, path := range candidates {
		//program:built the candidates are named above
		if found, err := exec.LookPath(path); path != "" && err == nil {
			return found, nil
		}
	}

	return "", fmt.Errorf("%s not found: run make build, or set %s to its path", name, variable)
}
