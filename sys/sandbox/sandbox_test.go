// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/sys/sandbox"
)

// The test's own executable is the stage, and then the program, which says what it sees.
func TestMain(m *testing.M) {
	switch os.Args[0] {
	case sandbox.Name:
		fmt.Println(sandbox.Main())
		os.Exit(1)
	case "inside":
		report()
		os.Exit(0)
	default:
		os.Exit(m.Run())
	}
}

func report() {
	entries, _ := os.ReadDir("/")
	for _, e := range entries {
		fmt.Println("root:", e.Name())
	}

	fmt.Println("uid:", os.Getuid(), "gid:", os.Getgid())
	fmt.Println("write root:", os.WriteFile("/x", nil, 0o600) != nil)

	for _, dir := range os.Args[1:] {
		fmt.Printf("write %s: %v\n", filepath.Base(dir), os.WriteFile(filepath.Join(dir, "x"), nil, 0o600) == nil)
	}
}

func TestBox(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to make a mount namespace")
	}

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	for _, name := range []string{"read", "write"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}

		if err := os.Chmod(filepath.Join(dir, name), 0o777); err != nil { //nolint:gosec // the mount must be what forbids it
			t.Fatal(err)
		}
	}

	path, argv, env, err := sandbox.Box{
		Path: self, Argv: []string{"inside", dir + "/read", dir + "/write"}, UID: 50, GID: 50,
		ReadOnly: []string{self, dir + "/read"}, Writable: []string{dir + "/write"},
	}.Command(self)
	if err != nil {
		t.Fatal(err)
	}

	out, err := (&exec.Cmd{Path: path, Args: argv, Env: env}).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	for _, want := range []string{"uid: 50 gid: 50", "write root: true", "write read: false", "write write: true", "root: tmp"} {
		if !strings.Contains(string(out), want+"\n") {
			t.Errorf("got no line %q in\n%s", want, out)
		}
	}

	for _, hidden := range []string{"root: etc", "root: proc", "root: usr"} {
		if strings.Contains(string(out), hidden) {
			t.Errorf("the box shows %q:\n%s", hidden, out)
		}
	}
}
