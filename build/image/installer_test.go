// SPDX-License-Identifier: Apache-2.0

package image

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/install/release"
	"github.com/seed-59268b81/talos/sys/fat"
	"github.com/seed-59268b81/talos/test/powercut"
)

// TestInstaller installs a release that the build wrote: package install finds its files, and they have the right digests.
func TestInstaller(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{}

	for _, name := range []string{release.UKI, release.Loader, release.Kernel, release.Initramfs, release.GRUBBoot, release.GRUBCore} {
		files[name] = write(t, filepath.Join(dir, name), "content of "+name)
	}

	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}

	if err := MakeInstaller(work, "installer", release.Manifest{Version: "v1.2.3"}, files, nil); err != nil {
		t.Fatal(err)
	}

	image, err := release.Open(release.Layout(filepath.Join(work, "installer")))
	if err != nil {
		t.Fatal(err)
	}

	var sources []install.Source

	for _, name := range []string{release.Loader, release.UKI} {
		s, err := image.Source(name)
		if err != nil {
			t.Fatal(err)
		}

		sources = append(sources, s)
	}

	const size = 40 << 20

	plan, err := install.For(install.Disk{Name: "disk", Size: size, SectorSize: sectorSize},
		install.Request{Firmware: install.UEFI, EFISize: 36 << 20, Image: true})
	if err != nil {
		t.Fatal(err)
	}

	disk := powercut.New(size)
	id := loader.NewID(image.Version)

	if err := install.Write(t.Context(), disk, plan, install.Content{EFI: loader.EFIFiles(sources[0], sources[1], id)}, nil); err != nil {
		t.Fatal(err)
	}

	f, err := fat.Open(offset{disk, 1 << 20}, 36<<20, epoch)
	if err != nil {
		t.Fatal(err)
	}

	if b, err := f.ReadFile("/EFI/Linux/"+id, 1000); err != nil || string(b) != "content of talos.efi" {
		t.Errorf("got %q, %v", b, err)
	}
}

// offset is a part of a disk.
type offset struct {
	*powercut.Disk
	at int64
}

func (o offset) ReadAt(b []byte, at int64) (int, error) { return o.Disk.ReadAt(b, o.at+at) }
