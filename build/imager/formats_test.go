// SPDX-License-Identifier: Apache-2.0

package imager

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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

// TestLargeQcow2 has a disk with several tables of the second level, some of which are not needed, and an odd size.
func TestLargeQcow2(t *testing.T) {
	dir := t.TempDir()
	raw, qcow2 := filepath.Join(dir, "raw"), filepath.Join(dir, "qcow2")

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

	out, err := os.Create(qcow2)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()

	if err := writeQcow2(out, in, size); err != nil {
		t.Fatal(err)
	}

	qemuImg := hosttest.Need(t, "qemu-img")

	for _, args := range [][]string{{"check", qcow2}, {"compare", "-f", "raw", "-F", "qcow2", raw, qcow2}} {
		if out, err := exec.Command(qemuImg, args...).CombinedOutput(); err != nil {
			t.Errorf("qemu-img %v: %v: %s", args, err, out)
		}
	}

	if info, err := out.Stat(); err != nil || info.Size() > 10*cluster {
		t.Errorf("got %d bytes, want the clusters with data only (%v)", info.Size(), err)
	}
}
