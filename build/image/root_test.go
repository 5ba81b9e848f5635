// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// kernelTree returns a modules folder without the files of the modules.
func kernelTree(t *testing.T) string {
	t.Helper()

	return kernelTreeOf(t, ".ko")
}

// kernelTreeOf returns a modules folder whose index has files with the given ending.
func kernelTreeOf(t *testing.T, ending string) string {
	t.Helper()

	dir := filepath.Join(t.TempDir(), "6.1.0-test")
	dep := "kernel/loop.ko:\nkernel/squashfs.ko: kernel/zlib.ko\nkernel/zlib.ko:\nkernel/other.ko:\n"

	write(t, filepath.Join(dir, "modules.dep"), strings.ReplaceAll(dep, ".ko", ending))
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

	// The third-party files have these.
	write(t, filepath.Join(root, "usr/bin/containerd"), "")

	if err := os.Symlink("usr/bin", filepath.Join(root, "bin")); err != nil {
		t.Fatal(err)
	}

	if err := newSkeleton("v1.2.3").make(root); err != nil {
		t.Fatal(err)
	}

	for path, want := range map[string]string{
		"bin/apid": "../sbin/init", "bin/trustd": "../sbin/init", "bin/discoveryd": "../sbin/init", "lib": "usr/lib",
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

// TestSkeletonNames compares the whole skeleton with a list, so that a name that is added by mistake is noticed. A folder ends with a slash, and
// a link has its target.
func TestSkeletonNames(t *testing.T) {
	root := t.TempDir()
	if err := newSkeleton("v1.2.3").make(root); err != nil {
		t.Fatal(err)
	}

	var got []string

	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}

		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}

		switch {
		case d.IsDir():
			name += "/"
		case d.Type() == fs.ModeSymlink:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}

			name += " -> " + to
		case !d.Type().IsRegular():
			name += " is " + d.Type().String()
		}

		got = append(got, name)

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	want := []string{
		"bin -> usr/bin", "dev/",
		"etc/", "etc/cni/", "etc/cri/", "etc/group", "etc/hostname", "etc/hosts", "etc/kubernetes/", "etc/machine-id",
		"etc/mtab -> /proc/self/mounts", "etc/nsswitch.conf", "etc/os-release", "etc/passwd", "etc/resolv.conf", "etc/ssl/",
		"etc/ssl/certs/", "etc/udev/", "etc/udev/rules.d/", "etc/udev/rules.d/99-talos.rules",
		"lib -> usr/lib", "mnt/",
		"opt/", "opt/cni/", "opt/cni/bin/",
		"proc/", "run/", "sbin -> usr/sbin", "sys/", "system/", "tmp/",
		"usr/", "usr/bin/", "usr/bin/apid -> ../sbin/init", "usr/bin/discoveryd -> ../sbin/init", "usr/bin/machined -> ../sbin/init",
		"usr/bin/trustd -> ../sbin/init", "usr/lib/", "usr/lib/os-release", "usr/libexec/", "usr/local/", "usr/local/bin/", "usr/local/etc/",
		"usr/local/etc/talos/", "usr/sbin/",
		"var/",
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestSkeletonInTheWay(t *testing.T) {
	for _, tt := range []struct {
		name     string
		skeleton skeleton
		found    string
	}{
		{"a file where a link goes", skeleton{links: map[string]string{"bin": "usr/bin"}}, "bin"},
		{"a file where a file goes", skeleton{files: map[string]string{"etc/hosts": ""}}, "etc/hosts"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			write(t, filepath.Join(root, tt.found), "foreign")

			if err := tt.skeleton.make(root); err == nil {
				t.Error("an existing file: got no error")
			}
		})
	}
}

// The initramfs must have the modules that the root image needs, in load order.
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

// The initramfs must have uncompressed modules, however the kernel's package compresses them.
func TestInitramfsUnpacksModules(t *testing.T) {
	for ending, pack := range map[string]func(*testing.T, string) string{
		".ko":     func(_ *testing.T, text string) string { return text },
		".ko.xz":  packXZ,
		".ko.zst": packZstd,
	} {
		t.Run(ending, func(t *testing.T) {
			kernel := kernelTreeOf(t, ending)
			for _, f := range []string{"loop", "squashfs", "zlib"} {
				write(t, filepath.Join(kernel, "kernel", f+ending), pack(t, "\x7fELF of "+f))
			}

			var early bytes.Buffer
			if err := writeEarly(&early, write(t, filepath.Join(t.TempDir(), "init"), "program"), kernel); err != nil {
				t.Fatal(err)
			}

			plain := unpack(t, early.Bytes())
			for _, want := range []string{"modules/zlib.ko\x00", "\x7fELF of zlib", "\x7fELF of loop", "/modules/loop.ko\n/modules/zlib.ko\n"} {
				if !bytes.Contains(plain, []byte(want)) {
					t.Errorf("the archive lacks %q", want)
				}
			}
		})
	}

	kernel := kernelTreeOf(t, ".ko.zst")
	for _, f := range []string{"loop", "squashfs", "zlib"} {
		write(t, filepath.Join(kernel, "kernel", f+".ko.zst"), "not packed")
	}

	err := writeEarly(&bytes.Buffer{}, write(t, filepath.Join(t.TempDir(), "init"), "program"), kernel)
	if err == nil || !strings.Contains(err.Error(), "loop.ko.zst") {
		t.Errorf("a damaged module: got %v, want an error that names it", err)
	}
}

func packXZ(t *testing.T, text string) string {
	t.Helper()

	var b strings.Builder

	w, err := xz.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	return b.String()
}

func packZstd(t *testing.T, text string) string {
	t.Helper()

	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}

	return string(w.EncodeAll([]byte(text), nil))
}

// TestDrivers chooses modules by the patterns of their files.
func TestDrivers(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"kernel/drivers/ata/ahci.ko", "kernel/drivers/ata/libata.ko.xz", "kernel/drivers/ata/README", "kernel/drivers/net/ethernet/intel/igb/igb.ko", "kernel/drivers/gpu/a.ko"} {
		write(t, filepath.Join(dir, f), "")
	}

	got, err := modulesLike(dir, ServerDrivers)
	if d := cmp.Diff([]string{"ahci", "igb", "libata"}, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}

	if _, err := modulesLike(dir, []string{"["}); err == nil {
		t.Error("a bad pattern: got no error")
	}
}
