// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"bytes"
	"os"
	"testing"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/test/cluster"
)

// byName are functions that call methods by names or numbers known only at run time. A program with one of them keeps each exported method of
// all types that it converts to an interface: megabytes that are never called.
var byName = map[string]string{
	"text/template.(*state).evalField":     "templates: print with fmt, or replace the function of a library that uses them",
	"github.com/godbus/dbus/v5.getMethods": "objects for D-Bus: sys/logind needs only the messages of this library",
}

// TestUnusedMethodsAreRemoved reads the names of functions in the programs, which the tables for stack traces have.
func TestUnusedMethodsAreRemoved(t *testing.T) {
	built, err := artifact.Find()
	if err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"talos", "talosctl", "init", "modprobe", "sandbox"} {
		program, err := os.ReadFile(built.Bin(name))
		if os.IsNotExist(err) && os.Getenv(cluster.Require) == "" {
			t.Skipf("needs a built system: %v: run make build", err)
		}

		if err != nil {
			t.Fatal(err)
		}

		if !bytes.Contains(program, []byte("\x00runtime.mallocgc\x00")) {
			t.Errorf("%s: found no names of functions", name)
		}

		for function, instead := range byName {
			if bytes.Contains(program, []byte("\x00"+function+"\x00")) {
				t.Errorf("%s contains %s: %s", name, function, instead)
			}
		}
	}
}
