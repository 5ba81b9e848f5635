// SPDX-License-Identifier: Apache-2.0

package imager

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
)

// TestFormats turns disks of each form into a raw one, which is the same.
func TestFormats(t *testing.T) {
	in := inputs(t)
	form := func(p Packing, f DiskFormat) string {
		return mustMake(t, Profile{Base: "metal", Output: Output{Packing: p, Disk: DiskOptions{Format: f}}}, in)[0]
	}

	raw := read(t, form(Unpacked, Raw))
	qemuImg := hosttest.Need(t, "qemu-img")

	converted := func(file, format string) []byte {
		if out, err := exec.Command(qemuImg, "convert", "-f", format, "-O", "raw", file, file+".back").CombinedOutput(); err != nil {
			t.Fatalf("qemu-img: %v: %s", err, out)
		}

		return read(t, file+".back")
	}

	qcow2 := form("", Qcow2)
	if out, err := exec.Command(qemuImg, "check", qcow2).CombinedOutput(); err != nil || !strings.Contains(string(out), "No errors were found") {
		t.Errorf("qemu-img check: %v: %s", err, out)
	}

	for name, got := range map[string]func() (io.Reader, error){
		"ova":   func() (io.Reader, error) { return bytes.NewReader(converted(unpackOVA(t, form("", OVA)), "vmdk")), nil },
		"qcow2": func() (io.Reader, error) { return bytes.NewReader(converted(qcow2, "qcow2")), nil },
		"vhd":   func() (io.Reader, error) { return bytes.NewReader(converted(form("", VHD), "vpc")), nil },
		"zstd":  func() (io.Reader, error) { return zstd.NewReader(bytes.NewReader(read(t, form(Zstd, Raw)))) },
		"gzip":  func() (io.Reader, error) { return gzip.NewReader(bytes.NewReader(read(t, form(Gzip, Raw)))) },
		"tar": func() (io.Reader, error) {
			unpacked, err := gzip.NewReader(bytes.NewReader(read(t, form(Tar, Raw))))
			if err != nil {
				return nil, err
			}

			archive := tar.NewReader(unpacked)
			if h, err := archive.Next(); err != nil || h.Name != "disk.raw" {
				t.Errorf("archive: got %v, %v", h, err)
			}

			return archive, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := got()
			if err != nil {
				t.Fatal(err)
			}

			b, err := io.ReadAll(r)
			if err != nil || !bytes.Equal(b, raw) {
				t.Errorf("got %d bytes (%v), want the %d of the raw disk", len(b), err, len(raw))
			}
		})
	}
}

// unpackOVA checks the description and the hashes in the archive of a virtual machine, and returns the file of its disk.
func unpackOVA(t *testing.T, file string) (vmdk string) {
	t.Helper()

	archive := tar.NewReader(bytes.NewReader(read(t, file)))
	contents := map[string][]byte{}

	var names []string

	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}

		if err != nil {
			t.Fatal(err)
		}

		if contents[h.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}

		names = append(names, h.Name)
	}

	if diff := cmp.Diff([]string{"talos.ovf", "talos.mf", "talos.vmdk"}, names); diff != "" {
		t.Fatalf("files (-want +got):\n%s", diff)
	}

	manifest := fmt.Sprintf("SHA256(talos.ovf)= %x\nSHA256(talos.vmdk)= %x\n", sha256.Sum256(contents["talos.ovf"]), sha256.Sum256(contents["talos.vmdk"]))
	if diff := cmp.Diff(manifest, string(contents["talos.mf"])); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}

	var description struct {
		File struct {
			Name string `xml:"href,attr"`
			Size int    `xml:"size,attr"`
		} `xml:"References>File"`
		Properties []struct {
			Key string `xml:"key,attr"`
		} `xml:"VirtualSystem>ProductSection>Property"`
	}

	if err := xml.Unmarshal(contents["talos.ovf"], &description); err != nil {
		t.Fatal(err)
	}

	if f := description.File; f.Name != "talos.vmdk" || f.Size != len(contents["talos.vmdk"]) {
		t.Errorf("file: got %+v, want talos.vmdk of %d bytes", f, len(contents["talos.vmdk"]))
	}

	if p := description.Properties; len(p) != 1 || p[0].Key != "talos.config" {
		t.Errorf("properties: got %v, want talos.config", p)
	}

	vmdk = filepath.Join(t.TempDir(), "talos.vmdk")
	if err := os.WriteFile(vmdk, contents["talos.vmdk"], 0o600); err != nil {
		t.Fatal(err)
	}

	return vmdk
}

// TestLargeDisks has a disk with several tables of the second level, some of which are not needed, and an odd size.
func TestLargeDisks(t *testing.T) {
	for format, write := range map[string]writer{"qcow2": writeQcow2, "vmdk": writeVMDK} {
		t.Run(format, func(t *testing.T) { largeDisk(t, format, write) })
	}
}

func largeDisk(t *testing.T, format string, write writer) {
	dir := t.TempDir()
	raw, made := filepath.Join(dir, "raw"), filepath.Join(dir, format)

	f, err := os.Create(raw)
	if err != nil {
		t.Fatal(err)
	}

	const size = 2*perTable*cluster + 512

	for _, at := range []int64{0, 5 * cluster, 6*cluster - 1, size - 4} {
		if _, err := f.WriteAt([]byte("data"), at); err != nil {
			t.Fatal(err)
		}
	}

	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	in, err := os.Open(raw)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()

	out, err := os.Create(made)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()

	if err := write(out, in, size); err != nil {
		t.Fatal(err)
	}

	qemuImg := hosttest.Need(t, "qemu-img")

	for _, args := range [][]string{{"check", "-f", format, made}, {"compare", "-f", "raw", "-F", format, raw, made}} {
		if out, err := exec.Command(qemuImg, args...).CombinedOutput(); err != nil {
			t.Errorf("qemu-img %v: %v: %s", args, err, out)
		}
	}

	if info, err := out.Stat(); err != nil || info.Size() > 10*cluster {
		t.Errorf("got %d bytes, want the clusters with data only (%v)", info.Size(), err)
	}
}
