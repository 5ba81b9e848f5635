// SPDX-License-Identifier: Apache-2.0

package imager

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/machine/boot"
)

// kernelTree is a modules directory of modules that are never opened.
func kernelTree(t *testing.T) string {
	t.Helper()

	dir := filepath.Join(t.TempDir(), "6.1.0-test")
	write(t, filepath.Join(dir, "modules.dep"),
		"kernel/loop.ko:\nkernel/squashfs.ko: kernel/zlib.ko\nkernel/zlib.ko:\nkernel/other.ko:\n")
	write(t, filepath.Join(dir, "modules.builtin"), "kernel/ext4.ko\n")

	return dir
}

func TestChooseModules(t *testing.T) {
	set, err := chooseModules(kernelTree(t), []string{"loop", "squashfs", "ext4", "no_such", "squashfs"})
	if err != nil {
		t.Fatal(err)
	}

	want := moduleSet{files: []string{"kernel/loop.ko", "kernel/zlib.ko", "kernel/squashfs.ko"}, absent: []string{"no_such"}}
	if diff := cmp.Diff(want, set, cmp.AllowUnexported(moduleSet{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSkeleton(t *testing.T) {
	root := t.TempDir()

	// As the third-party files have it.
	write(t, filepath.Join(root, "usr/bin/containerd"), "")

	if err := os.Symlink("usr/bin", filepath.Join(root, "bin")); err != nil {
		t.Fatal(err)
	}

	for _, e := range skeleton("v1.2.3") {
		if err := e.make(root); err != nil {
			t.Fatalf("%s: %v", e.path, err)
		}
	}

	for path, want := range map[string]string{
		"sbin/poweroff": "init", "bin/apid": "../sbin/init", "lib": "usr/lib", "usr/sbin/reboot": "init",
	} {
		if got, err := os.Readlink(filepath.Join(root, path)); err != nil || got != want {
			t.Errorf("%s: got a link to %q, %v, want %q", path, got, err, want)
		}
	}

	release, err := os.ReadFile(filepath.Join(root, "etc/os-release"))
	if err != nil || !strings.Contains(string(release), "VERSION_ID=v1.2.3") {
		t.Errorf("os-release: got %q, %v", release, err)
	}
}

func TestSkeletonInTheWay(t *testing.T) {
	for _, tt := range []struct {
		name  string
		entry entry
		found string
	}{
		{"a file where a link goes", symlink("bin", "usr/bin"), "bin"},
		{"a file where a file goes", file("etc/hosts", ""), "etc/hosts"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			write(t, filepath.Join(root, tt.found), "foreign")

			if err := tt.entry.make(root); err == nil {
				t.Error("what was there was overwritten or kept silently")
			}
		})
	}
}

// The modules that mount the root image must be in the initramfs, in an order in which they load.
func TestInitramfs(t *testing.T) {
	kernel := kernelTree(t)
	for _, f := range []string{"loop", "squashfs", "zlib"} {
		write(t, filepath.Join(kernel, "kernel", f+".ko"), f)
	}

	initProgram := write(t, filepath.Join(t.TempDir(), "init"), "program")

	var early bytes.Buffer
	if err := writeEarly(&early, initProgram, kernel); err != nil {
		t.Fatal(err)
	}

	plain := unpack(t, early.Bytes())

	list := "/modules/loop.ko\n/modules/zlib.ko\n/modules/squashfs.ko\n"
	for _, want := range []string{"init\x00", "dev/console\x00", "modules/zlib.ko\x00", list} {
		if !bytes.Contains(plain, []byte(want)) {
			t.Errorf("the archive lacks %q", want)
		}
	}

	f, err := os.Create(filepath.Join(t.TempDir(), "initramfs"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	if _, err := f.WriteString("odd"); err != nil {
		t.Fatal(err)
	}

	if err := writeRoot(f, write(t, filepath.Join(t.TempDir(), "root"), "squashfs image")); err != nil {
		t.Fatal(err)
	}

	got, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}

	if at := bytes.Index(got, []byte("070701")); at != 4 {
		t.Errorf("the second archive starts at %d, want a multiple of 4", at)
	}
}

func TestCmdline(t *testing.T) {
	if err := boot.CheckArgs(Options{}.Cmdline(), "Mitigation: PTI"); err != nil {
		t.Errorf("the system would refuse its own image: %v", err)
	}

	words := strings.Fields(Options{ExtraArgs: []string{"talos.config=x"}}.Cmdline())

	for _, want := range []string{"slab_nomerge", "pti=on", "module.sig_enforce=1", "talos.config=x"} {
		if !slices.Contains(words, want) {
			t.Errorf("command line lacks %s: %q", want, words)
		}
	}
}
