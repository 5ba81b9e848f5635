// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/ociimage"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/install/release"
	"github.com/seed-59268b81/talos/test/cluster"
	"github.com/seed-59268b81/talos/version"
)

// TestBrokenUpgrade upgrades a machine to versions that cannot run. Each time the machine must come back with the version that it had, and say
// why. The machine has no Kubernetes: what is tried is how it starts.
func TestBrokenUpgrade(t *testing.T) {
	cluster.Above(t, cluster.All, "starts a virtual machine several times, which takes long where it is emulated")

	built, err := artifact.Find()
	if err != nil {
		t.Fatal(err)
	}

	next := artifact.Paths{Out: filepath.Join(built.Out, "next")}

	c := cluster.Start(t)
	c.Maintenance()
	takesConfiguration(t, c)
	c.Kubeconfig()
	c.Causes("Kernel panic - not syncing")

	do := func(t *testing.T, args ...string) (string, error) {
		t.Helper()

		ctx, cancel := context.WithTimeout(t.Context(), upgradeTime)
		defer cancel()

		out, err := c.TalosctlCommand(ctx, args...).CombinedOutput()
		t.Logf("talosctl %s: %v\n%s", strings.Join(args, " "), err, out)

		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}

		return string(out), err
	}

	c.Run("half of an image", func(t *testing.T) {
		text, err := os.ReadFile(next.Installer())
		if err != nil {
			t.Fatalf("%v (make next builds it)", err)
		}

		half := filepath.Join(t.TempDir(), "half.tar")
		if err := os.WriteFile(half, text[:len(text)/2], 0o644); err != nil {
			t.Fatal(err)
		}

		if out, err := do(t, "image", "import", "--namespace", "system", half); err == nil {
			t.Errorf("half of an image was imported: %s", out)
		}

		if out, err := do(t, "upgrade", "--image", generate.InstallerRepository+":"+nextVersion, "--drain=false", "--timeout", "1m"); err == nil {
			t.Errorf("half of an image was installed: %s", out)
		}
	})

	for name, tear := range map[string]func([]byte) []byte{
		// The kernel finds no program to run, and panics.
		"no init": func(uki []byte) []byte { return overwrite(t, uki, "consoleblank=0", "rdinit=/none") },
		// The superblock of the root image is not one.
		"torn root image": func(uki []byte) []byte { return overwrite(t, uki, "hsqs", "torn") },
		// Process 1 refuses the kernel's arguments, and ends at each start.
		"process 1 ends": func(uki []byte) []byte { return overwrite(t, uki, "slab_nomerge", "slab_merged_") },
	} {
		c.Run(name, func(t *testing.T) {
			tag := strings.ReplaceAll(name, " ", "-")
			archive, image := brokenRelease(t, next, tag, tear)

			if out, err := do(t, "image", "import", "--namespace", "system", archive); err != nil {
				t.Fatalf("got %s, %v", out, err)
			}

			out, err := do(t, "upgrade", "--image", image, "--drain=false", "--timeout", upgradeTime.String())
			if err == nil || !strings.Contains(out, "its boot entry never started") {
				t.Fatalf("got %s, %v", out, err)
			}

			c.Answers()

			for _, want := range []struct{ text, args string }{
				{"reverted", "get trials"}, {version.Tag, "get version"}, {"upgrade to " + image, "get boots"},
			} {
				if out, err := do(t, strings.Fields(want.args)...); err != nil || !strings.Contains(out, want.text) {
					t.Errorf("got %s, %v; want %s", out, err, want.text)
				}
			}
		})
	}

	c.Run("is reset to maintenance", func(t *testing.T) {
		if out, err := do(t, "reset", "--system-labels-to-wipe", "STATE", "--system-labels-to-wipe", "EPHEMERAL",
			"--graceful=false", "--reboot", "--wait=false"); err != nil {
			t.Fatalf("got %s, %v", out, err)
		}

		c.Maintenance()
	})
}

// overwrite replaces the first place of a text by another one, filled with spaces to the same length.
func overwrite(t *testing.T, data []byte, old, text string) []byte {
	i := bytes.Index(data, []byte(old))
	if i < 0 || len(text) > len(old) {
		t.Fatalf("%q is not in the image, or is shorter than %q", old, text)
	}

	copy(data[i:], text+strings.Repeat(" ", len(old)-len(text)))

	return data
}

// brokenRelease makes a release of the next version with an image that is torn, and returns its archive and its name.
func brokenRelease(t *testing.T, next artifact.Paths, tag string, tear func([]byte) []byte) (archive, image string) {
	dir := t.TempDir()
	uki := filepath.Join(dir, release.UKI)

	whole, err := os.ReadFile(next.UKIOf(nextVersion))
	if err != nil {
		t.Fatalf("%v (make next builds it)", err)
	}

	if err := os.WriteFile(uki, tear(whole), 0o644); err != nil {
		t.Fatal(err)
	}

	layers, err := release.Trees(filepath.Join(dir, "trees"), release.Manifest{Version: nextVersion, Arch: "amd64"}, map[string]string{release.UKI: uki})
	if err != nil {
		t.Fatal(err)
	}

	image, archive = generate.InstallerRepository+":"+tag, filepath.Join(dir, "release.tar")

	err = ociimage.Write(filepath.Join(dir, "release"), ociimage.Image{
		Reference: image, Layers: []ociimage.Tree{ociimage.Tree(layers[0]), ociimage.Tree(layers[1])},
	})
	if err == nil {
		err = ociimage.Archive(archive, filepath.Join(dir, "release"))
	}

	if err != nil {
		t.Fatal(err)
	}

	return archive, image
}
