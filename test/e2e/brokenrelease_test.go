// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/cpio"
	"github.com/seed-59268b81/talos/build/image"
	"github.com/seed-59268b81/talos/build/ociimage"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/install/release"
	"github.com/seed-59268b81/talos/machine/boot"
)

// released returns where the next version is.
func released(t *testing.T) artifact.Paths {
	t.Helper()

	built, err := artifact.Find()
	if err != nil {
		t.Fatal(err)
	}

	return artifact.Paths{Out: filepath.Join(built.Out, "next")}
}

// breaker makes versions that cannot run from one that can.
type breaker struct {
	built artifact.Paths
	uki   image.UKI
}

func newBreaker(t *testing.T, built artifact.Paths) *breaker {
	uki, err := image.ReadUKI(released(t).UKIOf(nextVersion))
	if err != nil {
		t.Fatalf("%v (make next builds it)", err)
	}

	return &breaker{built: built, uki: uki}
}

// split returns the part of the initramfs before the root image, which has init and its modules, and the root image.
func (b *breaker) split(t *testing.T) (early, root []byte) {
	t.Helper()

	const header = 110 // bytes of an entry of the archive, before its name

	name := strings.TrimPrefix(boot.RootImage, "/") + "\x00"

	at := bytes.Index(b.uki.Initramfs, []byte(name)) - header
	if at < 0 || !bytes.HasPrefix(b.uki.Initramfs[at:], []byte("070701")) {
		t.Fatal("the initramfs has no root image")
	}

	size, err := strconv.ParseUint(string(b.uki.Initramfs[at+54:at+62]), 16, 32)
	if err != nil {
		t.Fatal(err)
	}

	start := at + (header+len(name)+3)/4*4

	return bytes.Clone(b.uki.Initramfs[:at]), b.uki.Initramfs[start : start+int(size)]
}

// withRoot returns the unified kernel image with another root image.
func (b *breaker) withRoot(t *testing.T, root []byte) image.UKI {
	t.Helper()

	before, _ := b.split(t)
	early := bytes.NewBuffer(before)
	archive := cpio.NewWriter(early, 0)

	if err := archive.File(strings.TrimPrefix(boot.RootImage, "/"), 0o444, int64(len(root)), bytes.NewReader(root)); err != nil {
		t.Fatal(err)
	}

	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}

	out := b.uki
	out.Initramfs = early.Bytes()

	return out
}

// rootWith makes a root image whose only program is /sbin/init, or none if its path is empty.
func rootWith(t *testing.T, program string) []byte {
	t.Helper()

	dir := t.TempDir()
	tree, packed := filepath.Join(dir, "tree"), filepath.Join(dir, "rootfs.sqsh")

	for _, name := range []string{"dev", "proc", "sys", "sbin"} {
		if err := os.MkdirAll(filepath.Join(tree, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	if program != "" {
		if err := os.Link(program, filepath.Join(tree, "sbin/init")); err != nil {
			t.Fatal(err)
		}
	}

	return squash(t, tree, packed)
}

// squash packs a tree into an image, and returns its content.
func squash(t *testing.T, tree, image string) []byte {
	t.Helper()

	pack(t, "mksquashfs", tree, image, "-quiet", "-no-progress", "-all-root", "-comp", "zstd")

	text, err := os.ReadFile(image)
	if err != nil {
		t.Fatal(err)
	}

	return text
}

func pack(t *testing.T, program string, args ...string) {
	t.Helper()

	if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", program, err, out)
	}
}

// changed returns the root image with a change.
func (b *breaker) changed(t *testing.T, change func(tree string) error) []byte {
	t.Helper()

	dir := t.TempDir()
	tree, packed := filepath.Join(dir, "tree"), filepath.Join(dir, "rootfs.sqsh")
	_, root := b.split(t)

	if err := os.WriteFile(packed, root, 0o644); err != nil {
		t.Fatal(err)
	}

	pack(t, "unsquashfs", "-no-progress", "-quiet", "-dest", tree, packed)

	if err := errors.Join(change(tree), os.Remove(packed)); err != nil {
		t.Fatal(err)
	}

	return squash(t, tree, packed)
}

// forget removes a kind of document from a version, which then is like one that is older than the kind.
func forget(tree, kind string) error {
	program := filepath.Join(tree, "sbin/init")

	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}

	if !bytes.Contains(text, []byte(kind)) {
		return fmt.Errorf("%s does not know %s", program, kind)
	}

	// The length stays.
	return os.WriteFile(program, bytes.ReplaceAll(text, []byte(kind), []byte("Un"+kind[2:])), 0o755)
}

// process1 builds a process 1 that crashes after a time, such as 5s, or hangs if that is empty.
func process1(t *testing.T, ends string) string {
	t.Helper()

	out := filepath.Join(t.TempDir(), "init")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", out, "-ldflags", "-X main.ends="+ends, "./testdata/process1")

	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}

	return out
}

// release makes a release of the next version with the unified kernel image, and returns its archive and its name.
func (b *breaker) release(t *testing.T, tag string, uki image.UKI) (archive, name string) {
	t.Helper()

	dir := t.TempDir()
	file := filepath.Join(dir, release.UKI)

	joined, err := uki.Join(filepath.Join(b.built.Boot(), artifact.EFIStub))
	if err == nil {
		err = os.WriteFile(file, joined, 0o644)
	}

	if err != nil {
		t.Fatal(err)
	}

	loader := filepath.Join(dir, release.Loader)

	text, err := os.ReadFile(filepath.Join(b.built.Boot(), artifact.SystemdBoot))
	if err == nil {
		err = os.WriteFile(loader, text, 0o644)
	}

	if err != nil {
		t.Fatal(err)
	}

	layers, err := release.Trees(filepath.Join(dir, "trees"), release.Manifest{Version: nextVersion, Arch: "amd64"}, map[string]string{
		release.UKI: file, release.Loader: loader,
	})
	if err != nil {
		t.Fatal(err)
	}

	name, archive = generate.InstallerRepository+":"+tag, filepath.Join(dir, "release.tar")

	err = ociimage.Write(filepath.Join(dir, "release"), ociimage.Image{
		Reference: name, Layers: []ociimage.Tree{ociimage.Tree(layers[0]), ociimage.Tree(layers[1])},
	})
	if err == nil {
		err = ociimage.Archive(archive, filepath.Join(dir, "release"))
	}

	if err != nil {
		t.Fatal(err)
	}

	return archive, name
}
