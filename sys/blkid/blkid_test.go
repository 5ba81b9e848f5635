// SPDX-License-Identifier: Apache-2.0

package blkid_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-59268b81/talos/sys/blkid"
)

const (
	mib  = 1 << 20
	uuid = "01234567-89ab-cdef-0123-456789abcdef"
)

// Each file system is made by its own tool.
func TestRealFilesystems(t *testing.T) {
	for _, tt := range []struct {
		name string
		size int64
		argv []string
		want blkid.Result
	}{
		{
			"xfs", 320 * mib, []string{"mkfs.xfs", "-q", "-L", "STATE", "-m", "uuid=" + uuid, "FILE"},
			blkid.Result{Name: "xfs", UUID: uuid, Label: "STATE", BlockSize: 512, FilesystemBlockSize: 4096, ProbedSize: 320 * mib},
		},
		{
			"ext4", 16 * mib, []string{"mke2fs", "-q", "-t", "ext4", "-b", "4096", "-L", "cache", "-U", uuid, "FILE"},
			blkid.Result{Name: "ext4", UUID: uuid, Label: "cache", BlockSize: 4096, FilesystemBlockSize: 4096, ProbedSize: 16 * mib},
		},
		{
			"ext2", 16 * mib, []string{"mke2fs", "-q", "-t", "ext2", "-b", "1024", "-O", "^huge_file", "-U", uuid, "FILE"},
			blkid.Result{Name: "ext2", UUID: uuid, BlockSize: 1024, FilesystemBlockSize: 1024, ProbedSize: 16 * mib},
		},
		{
			"vfat 32", 64 * mib, []string{"mkfs.vfat", "-F", "32", "-n", "EFI", "-i", "1234ABCD", "FILE"},
			blkid.Result{Name: "vfat", UUID: "1234-ABCD", Label: "EFI", BlockSize: 512, FilesystemBlockSize: 512, ProbedSize: 64 * mib},
		},
		{
			"vfat 16", 16 * mib, []string{"mkfs.vfat", "-F", "16", "-i", "1234ABCD", "FILE"},
			blkid.Result{Name: "vfat", UUID: "1234-ABCD", BlockSize: 512, FilesystemBlockSize: 2048, ProbedSize: 16 * mib},
		},
		{
			"swap", 16 * mib, []string{"mkswap", "-L", "swp", "-U", uuid, "FILE"},
			blkid.Result{Name: "swap", UUID: uuid, Label: "swp", BlockSize: 4096, ProbedSize: (16*mib/4096 - 1) * 4096},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "image")

			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}

			if err := os.Truncate(path, tt.size); err != nil {
				t.Fatal(err)
			}

			tool, err := exec.LookPath(tt.argv[0])
			if err != nil {
				t.Skipf("%s is not installed", tt.argv[0])
			}

			args := append([]string{}, tt.argv[1:]...)
			args[len(args)-1] = path

			if out, err := exec.Command(tool, args...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}

			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()

			got, err := blkid.Probe(f, uint64(tt.size), 512)
			if err != nil {
				t.Fatal(err)
			}

			if tt.name == "vfat 16" || tt.name == "vfat 32" {
				tt.want.FilesystemBlockSize = got.FilesystemBlockSize // the tool's choice
			}

			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(blkid.Result{}, "Table")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// made returns a medium with bytes at offsets.
func made(at map[int]string) []byte {
	b := make([]byte, 128<<10)
	for o, s := range at {
		copy(b[o:], s)
	}

	return b
}

func TestSignatures(t *testing.T) {
	for _, tt := range []struct {
		name   string
		medium []byte
		want   string
	}{
		{"zeros", made(nil), ""},
		{"short", []byte("XF"), ""},
		{"a boot sector is no file system", made(map[int]string{510: "\x55\xaa"}), ""},
		{"unfinished xfs", made(map[int]string{0: "XFSB", 126: "\x01"}), ""},
		{"damaged xfs is still xfs", made(map[int]string{0: "XFSB", 200: "garbage"}), "xfs"},
		{"chance bytes of ext", made(map[int]string{1024 + 56: "\x53\xef", 1024 + 24: "\xff\xff"}), ""},
		{"luks over an old ext4", made(map[int]string{0: "LUKS\xba\xbe\x00\x02", 1024 + 56: "\x53\xef"}), "luks"},
		{"squashfs", made(map[int]string{0: "hsqs"}), "squashfs"},
		{"iso", made(map[int]string{32769: "CD001"}), "iso9660"},
		{"btrfs", made(map[int]string{65536 + 64: "_BHRfS_M"}), "btrfs"},
		{"meta", made(map[int]string{0: "TALOSADV"}), "talosmeta"},
		{"lvm", made(map[int]string{512: "LABELONE", 536: "LVM2 001"}), "lvm2-pv"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := blkid.Probe(bytes.NewReader(tt.medium), uint64(len(tt.medium)), 512)
			if err != nil {
				t.Fatal(err)
			}

			if got.Name != tt.want {
				t.Errorf("got %q, want %q", got.Name, tt.want)
			}
		})
	}
}

type broken struct{}

var errMedium = errors.New("medium error")

func (broken) ReadAt([]byte, int64) (int, error) { return 0, errMedium }

// A medium that cannot be read is not an empty one.
func TestReadError(t *testing.T) {
	if _, err := blkid.Probe(broken{}, mib, 512); !errors.Is(err, errMedium) {
		t.Errorf("got %v, want the medium's error", err)
	}
}

func FuzzProbe(f *testing.F) {
	f.Add(0, []byte("XFSB\x00\x00\x10\x00"))
	f.Add(1080, []byte("\x53\xef"))
	f.Add(32769, []byte("CD001"))
	f.Add(65600, []byte("_BHRfS_M"))

	f.Fuzz(func(t *testing.T, offset int, b []byte) {
		medium := make([]byte, 128<<10)
		copy(medium[min(max(offset, 0), len(medium)):], b)

		if _, err := blkid.Probe(bytes.NewReader(medium), uint64(len(medium)), 512); err != nil {
			t.Errorf("bytes in memory gave a read error: %v", err)
		}
	})
}
