// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/build"
	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/cpio"
	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/lab/qemu/accel"
)

// guestTime is how long a guest may take, from power-on to power-off.
const guestTime = 5 * time.Minute

// TestBond runs a test of the network on the kernel of the system: a bond with twenty VLANs and a VRF must be there in two seconds after a change
// of the configuration, and gone two seconds after another, also where the machine is emulated.
func TestBond(t *testing.T) {
	if os.Getenv(Measure) == "" {
		t.Skip("measures times, which needs the whole computer: run make budgets")
	}

	text := inGuest(t, []string{"test", "-c", "./controllers/network"}, "-test.v", "-test.run=^TestRealBondIsSoonThere$")

	for _, figures := range logged(text, "are there after") {
		report("bonds in a machine of their own: %s", figures)
	}

	if !strings.Contains(text, "\r\nexit status 0\r\n") || strings.Contains(text, "SKIP") {
		t.Errorf("the test in the guest did not pass:\n%s", text)
	}
}

// inGuest runs what the go command makes as the only program of a virtual machine with the system's kernel, with arguments. It returns the console.
func inGuest(t *testing.T, command []string, args ...string) string {
	t.Helper()

	qemu := hosttest.Need(t, "qemu-system-x86_64")

	paths, err := build.Build(t.Context(), build.Options{}, artifact.TargetKernel)
	if err != nil {
		t.Fatalf("get the kernel: %v", err)
	}

	dir := t.TempDir()
	init, program := filepath.Join(dir, "init"), filepath.Join(dir, "test")
	compile(t, init, "build", "./test/budgets/testdata/guest")
	compile(t, program, command...)

	modules, err := paths.Modules()
	if err != nil {
		t.Fatal(err)
	}

	var archive bytes.Buffer

	w := cpio.NewWriter(&archive, 0)
	files(t, w, "lib/modules/"+filepath.Base(modules), modules)
	file(t, w, "init", init)
	file(t, w, "test", program)

	// The kernel opens it for the output of process 1.
	for _, err := range []error{w.Folder("dev", 0o755), w.CharDevice("dev/console", 0o600, 5, 1), w.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}

	initrd := filepath.Join(dir, "initrd")
	if err := os.WriteFile(initrd, archive.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), guestTime)
	defer cancel()

	// The arguments that follow -- are those of process 1.
	line := "console=ttyS0 quiet panic=-1 -- " + strings.Join(args, " ")
	guest := exec.CommandContext(ctx, qemu, append(accel.Choose(ctx, qemu).Args(2), "-smp", "2", "-m", "2G", "-nic", "none", "-nographic", "-no-reboot",
		"-kernel", paths.Vmlinuz(), "-initrd", initrd, "-append", line)...)

	text, err := guest.CombinedOutput()
	if err != nil {
		t.Fatalf("run a guest: %v\n%s", err, text)
	}

	return string(text)
}

// compile makes a static program with a go command.
func compile(t *testing.T, program string, command ...string) {
	t.Helper()

	cmd := exec.CommandContext(t.Context(), "go", slices.Insert(slices.Clone(command), 1, "-o", program)...)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")

	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

// files adds a folder, with all files below it and the folders above it.
func files(t *testing.T, w *cpio.Writer, name, from string) {
	t.Helper()

	for i, c := range name {
		if c == '/' {
			if err := w.Folder(name[:i], 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}

	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}

		if d.IsDir() {
			return w.Folder(filepath.Join(name, rel), 0o755)
		}

		file(t, w, filepath.Join(name, rel), path)

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// file adds a file.
func file(t *testing.T, w *cpio.Writer, name, path string) {
	t.Helper()

	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	if err := w.File(name, 0o755, int64(len(content)), bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
}
