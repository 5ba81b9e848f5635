// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/test/cluster"
)

// imaging is a command of the imager on a page.
var imaging = regexp.MustCompile(`(?m)^ +\$ out/bin/imager (.*)$`)

// TestImagesPage runs the commands of docs/images.md with what make build has made, and with the servers' kernel where make full has run.
func TestImagesPage(t *testing.T) {
	cluster.Above(t, cluster.All, "makes a dozen of images")

	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "images.md"))
	if err != nil {
		t.Fatal(err)
	}

	built, err := artifact.Find()
	if err != nil {
		t.Fatal(err)
	}

	if _, err := os.Stat(built.Bin("imager")); err != nil {
		hosttest.NotBuilt(t, err)
	}

	dir := t.TempDir()

	_, profile, _ := strings.Cut(string(text), "```yaml profile\n")
	profile, _, _ = strings.Cut(profile, "```")

	for name, content := range map[string]string{"controlplane.yaml": "machine:\n  type: worker\n", "profile.yaml": profile} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.Symlink(built.Out, filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}

	commands := imaging.FindAllStringSubmatch(string(text), -1)
	if len(commands) < 10 {
		t.Fatalf("got %d commands, want more", len(commands))
	}

	for _, m := range commands {
		t.Run(m[1], func(t *testing.T) { runImager(t, dir, m[1]) })
	}
}

// runImager runs a command of the page in a folder, and checks that it makes the files that it prints.
func runImager(t *testing.T, dir, line string) {
	if strings.Contains(line, "out/full") {
		if _, err := os.Stat(filepath.Join(dir, "out", "full")); err != nil {
			t.Skip("not built; run make full")
		}
	}

	made := t.TempDir()
	words, file, _ := strings.Cut(line, " < ")
	args := append(strings.Fields(words), "--output", made)

	if !strings.Contains(line, "--input") { // a user is in the repository
		args = append(args, "--input", "out")
	}

	//program:built imager
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "out", "bin", "imager"), args...)
	cmd.Dir = dir

	if file != "" {
		in, err := os.Open(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()

		cmd.Stdin = in
	}

	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}

	files, err := os.ReadDir(made)
	if err != nil {
		t.Fatal(err)
	}

	if len(files) == 0 && !strings.Contains(line, "--print") {
		t.Errorf("there is no file: %s", said)
	}

	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Size() == 0 || !strings.Contains(string(said), f.Name()) {
			t.Errorf("%s is empty, or is not in the output: %v\n%s", f.Name(), err, said)
		}
	}
}
