// SPDX-License-Identifier: Apache-2.0

package program

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
)

// TestJoined runs the CNI plugins, which are one file, by each of their names and by another one.
func TestJoined(t *testing.T) {
	p, err := artifact.Find()
	if err != nil {
		t.Fatal(err)
	}

	for _, m := range modules() {
		if !m.joined { // only the CNI plugins are
			continue
		}

		for _, program := range m.programs {
			path := p.Component(program.name)
			if _, err := os.Stat(path); err != nil {
				hosttest.NotBuilt(t, fmt.Errorf("%w: run make build", err))
			}

			//program:built the plugins
			cmd := exec.CommandContext(t.Context(), path)
			cmd.Env = append(os.Environ(), "CNI_COMMAND=VERSION")
			cmd.Stdin = strings.NewReader(`{"cniVersion": "1.0.0"}`)

			var answer struct{ SupportedVersions []string }

			out, err := cmd.Output()
			if err == nil {
				err = json.Unmarshal(out, &answer)
			}

			if err != nil || len(answer.SupportedVersions) == 0 {
				t.Errorf("%s: got %s, %v", program.name, out, err)
			}

			other := filepath.Join(t.TempDir(), "other")
			if err := os.Symlink(path, other); err != nil {
				t.Fatal(err)
			}

			//program:built a plugin by another name
			out, err = exec.CommandContext(t.Context(), other).CombinedOutput()
			if want := "other is none of the programs of this file"; err == nil || !strings.Contains(string(out), want) {
				t.Errorf("%s by another name: got %s, %v, want %s", program.name, out, err, want)
			}
		}
	}
}

// TestAsPackage refuses a package that is not a program.
func TestAsPackage(t *testing.T) {
	dir := t.TempDir()

	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.26\n", "a.go": "package m\n\nfunc Main() {}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	err := asPackage(t.Context(), dir, "m", "p", filepath.Join(t.TempDir(), "p"))
	if err == nil || !strings.Contains(err.Error(), "0 functions main, want one") {
		t.Errorf("got %v, want an error", err)
	}
}
