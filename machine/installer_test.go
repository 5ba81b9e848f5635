// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/build/ociimage"
	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/install/release"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/machine/installation"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/sys/disk"
	"github.com/seed-59268b81/talos/sys/efivar"
	"github.com/seed-59268b81/talos/sys/fat"
	"github.com/seed-59268b81/talos/sys/gpt"
	"github.com/seed-59268b81/talos/test/registrytest"
)

// loop returns a blank loop device.
func loop(t *testing.T, size int64) string {
	t.Helper()

	if os.Geteuid() != 0 {
		t.Skip("needs root: it makes loop devices")
	}

	file := filepath.Join(t.TempDir(), "disk")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, size)); err != nil {
		t.Fatal(err)
	}

	losetup := hosttest.Need(t, "losetup")

	out, err := exec.Command(losetup, "--find", "--show", file).CombinedOutput()
	if err != nil {
		t.Skipf("this computer has no loop devices: %v: %s", err, out)
	}

	path := strings.TrimSpace(string(out))

	t.Cleanup(func() {
		if out, err := exec.Command(losetup, "--detach", path).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})

	return path
}

// installerLayout returns the layout of an installer's image with some files.
func installerLayout(t *testing.T, version string, contents map[string][]byte) string {
	t.Helper()

	dir := t.TempDir()
	files := map[string]string{}

	for name, content := range contents {
		files[name] = filepath.Join(dir, name)
		if err := os.WriteFile(files[name], content, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	trees, err := release.Trees(filepath.Join(dir, "trees"), release.Manifest{Version: version, Arch: "amd64", Cmdline: "quiet"}, files)
	if err != nil {
		t.Fatal(err)
	}

	to := filepath.Join(dir, "layout")
	if err := ociimage.Write(to, ociimage.Image{
		Reference: "registry.test/company/installer:1", Layers: []ociimage.Tree{ociimage.Tree(trees[0]), ociimage.Tree(trees[1])},
	}); err != nil {
		t.Fatal(err)
	}

	return to
}

// mirrored returns a configuration that has a private registry's images from a mirror of it, with a login.
func mirrored(t *testing.T, r *registrytest.Registry, password string) *view.Config {
	t.Helper()

	cfg, err := config.Decode([]byte(`version: v1alpha1
machine:
  registries:
    mirrors:
      ` + registrytest.Name + `:
        endpoints: ["https://` + r.Host + registrytest.Elsewhere + `"]
        overridePath: true
        skipFallback: true
    config:
      "` + r.Host + `":
        auth:
          username: ` + registrytest.User + `
          password: ` + password + `
        tls:
          ca: ` + base64.StdEncoding.EncodeToString(r.CA.PEM.Crt) + `
`))
	if err != nil {
		t.Fatal(err)
	}

	return view.Of(cfg)
}

// efiPartition is the EFI partition of a disk that is only read.
type efiPartition struct {
	io.ReaderAt
	offset int64
}

func (p efiPartition) ReadAt(b []byte, at int64) (int, error) {
	return p.ReaderAt.ReadAt(b, p.offset+at)
}
func (efiPartition) WriteAt([]byte, int64) (int, error) { return 0, os.ErrPermission }
func (efiPartition) Sync() error                        { return nil }

// TestInstallFromRegistry installs from a mirror of a private registry to a loop device. What cannot be read, and an image of something else,
// change nothing.
func TestInstallFromRegistry(t *testing.T) {
	const image = registrytest.Name + "/company/installer:1"

	contents := map[string][]byte{release.UKI: bytes.Repeat([]byte("uki"), 1<<20), release.Loader: []byte("systemd-boot")}

	r := registrytest.Start(t, registrytest.Access{Password: true})
	r.Push(t, "company/installer", registrytest.Layout(t, installerLayout(t, "v1.2.3", contents)))
	r.Push(t, "company/other", registrytest.Random(t))

	target, folder, st := loop(t, 5<<30), t.TempDir(), memory.New()
	if err := typed.Set(t.Context(), st, "", filepath.Base(target), block.DiskSpec{DevPath: target, Size: 5 << 30}); err != nil {
		t.Fatal(err)
	}

	installer := &installation.Installer{
		State: st, Sys: disk.Sys, Vars: efivar.Dir(t.TempDir()), UEFI: true, Version: "v1.0.0", Cmdline: "debug",
		Fetch: func(ctx context.Context, image string, cfg *view.Config) (*release.Image, error) {
			return fetchRelease(ctx, folder, image, cfg)
		},
	}

	// A call's context ends with the call.
	to := func(image, password string) error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()

		return installer.InstallTo(ctx, mirrored(t, r, password), target, image, func(text string) { t.Log(text) })
	}

	for _, tt := range []struct{ name, image, password, want string }{
		{"a wrong password", image, "wrong", "401"},
		{"no such image", registrytest.Name + "/company/none:1", registrytest.Password, "not found"},
		{"not an installer", registrytest.Name + "/company/other:1", registrytest.Password, release.ErrNotOurs.Error()},
		{"no reference", "Not an image", registrytest.Password, "not a reference of an image"},
	} {
		if err := to(tt.image, tt.password); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.image) {
			t.Errorf("%s: got %v, want %q and the image", tt.name, err, tt.want)
		}
	}

	if d, err := install.Inspect(disk.Sys, target); err != nil || d.Content != "" {
		t.Fatalf("the disk was changed: it has %q, %v", d.Content, err)
	}

	if err := to(image, registrytest.Password); err != nil {
		t.Fatal(err)
	}

	f, err := disk.Open(target, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	table, err := gpt.Read(f, f.Size, f.SectorSize)
	if err != nil {
		t.Fatal(err)
	}

	if _, there := table.Find(layout.PartitionMeta); !there {
		t.Error("it has no META")
	}

	efi, _ := table.Find(layout.PartitionEFI)

	esp, err := fat.Open(efiPartition{f, int64(efi.First) * 512}, int64(efi.Sectors())*512, time.Time{})
	if err != nil {
		t.Fatal(err)
	}

	for path, want := range map[string][]byte{
		"/EFI/Linux/Talos-v1.2.3.efi": contents[release.UKI], "/EFI/BOOT/BOOTX64.EFI": contents[release.Loader],
		"/loader/entries/Talos-v1.2.3.conf": []byte("title Talos v1.2.3\nefi /EFI/Linux/Talos-v1.2.3.efi\noptions quiet debug\n"),
	} {
		if got, err := esp.ReadFile(path, 8<<20); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: got %d bytes, %v; want %d", path, len(got), err, len(want))
		}
	}

	// The passwords in the folder go with the calls.
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		left, err := os.ReadDir(folder)
		if err == nil && len(left) == 0 {
			break
		}

		if err != nil || time.Now().After(deadline) {
			t.Fatalf("the files of the registries stay: %v, %v", left, err)
		}
	}
}
