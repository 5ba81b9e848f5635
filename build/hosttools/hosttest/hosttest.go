// SPDX-License-Identifier: Apache-2.0

// Package hosttest finds the programs that tests call. A test is not skipped for want of a program: one that never ran
// would pass for years. It fails, and says which package to install. Only what the build makes may be missing, for who
// runs go test in a tree where nothing is built yet; make test builds first, and lets nothing be missing. Only tests
// import it.
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

// Require is the environment variable with which make test says that everything is built.
const Require = "TALOS_E2E"

// Need returns where a program is, and fails the test without it.
func Need(t testing.TB, name string) string {
	t.Helper()

	path, err := hosttools.LookPath(name)
	if err != nil {
		t.Fatalf("%s is not installed: %s", name, hosttools.Hint(name))
	}

	return path
}

// Built returns where a program is that this project builds. In a tree without a build it skips the test.
func Built(t testing.TB, name string) string {
	t.Helper()

	path, err := Find(name)
	if err != nil {
		NotBuilt(t, err)
	}

	return path
}

// NotBuilt ends a test that needs a build: as skipped, or as failed where everything is to be built.
func NotBuilt(t testing.TB, err error) {
	t.Helper()

	if os.Getenv(Require) != "" {
		t.Fatal(err)
	}

	t.Skip(err)
}

// Find finds a program that this project builds: the one that the environment variable of its name in capitals says, the
// one that was built, or one that is installed.
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

	return "", fmt.Errorf("there is no %s: run make build, or set %s to one", name, variable)
}
