// SPDX-License-Identifier: Apache-2.0

package qemu

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
)

func TestCopyBaseKeepsHoles(t *testing.T) {
	const size = 64 << 20

	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")

	in, err := os.Create(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()

	marks := map[int64][]byte{0: []byte("first"), 20 << 20: bytes.Repeat([]byte{7}, 100<<10), size - 6: []byte("before")}
	for at, mark := range marks {
		if _, err := in.WriteAt(mark, at); err != nil {
			t.Fatal(err)
		}
	}

	if err := in.Truncate(size + 1<<20); err != nil { // ends in a hole
		t.Fatal(err)
	}

	if err := CopyBase(from, to); err != nil {
		t.Fatal(err)
	}

	want, _ := os.ReadFile(from)
	got, err := os.ReadFile(to)

	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("the copy differs: %v", err)
	}

	info, err := os.Stat(to)
	if err != nil {
		t.Fatal(err)
	}

	if used := info.Sys().(*syscall.Stat_t).Blocks * 512; used > 1<<20 {
		t.Errorf("the copy takes %d bytes of disk for 100 KiB of data", used)
	}

	if err := CopyBase(filepath.Join(dir, "none"), to); err == nil {
		t.Error("copying an image that does not exist did not fail")
	}
}

func TestCreateOverlay(t *testing.T) {
	qemuImg := hosttest.Need(t, "qemu-img")
	dir := t.TempDir()
	base := filepath.Join(dir, "base.raw")

	if err := os.WriteFile(base, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	if err := os.Truncate(base, 3<<30); err != nil {
		t.Fatal(err)
	}

	tests := []struct {
		name    string
		base    string
		sizeGiB int
		want    int64
		backing string
	}{
		{"longer than the image", base, 10, 10 << 30, "../base.raw"},
		{"no shorter than the image", base, 1, 3 << 30, "../base.raw"},
		{"empty", "", 2, 2 << 30, ""},
	}

	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			node := filepath.Join(dir, string(rune('a'+i)))
			if err := os.Mkdir(node, 0o700); err != nil {
				t.Fatal(err)
			}

			path := filepath.Join(node, "disk.qcow2")
			if err := CreateOverlay(t.Context(), path, tt.base, tt.sizeGiB); err != nil {
				t.Fatal(err)
			}

			out, err := exec.CommandContext(t.Context(), qemuImg, "info", "--output=json", path).Output()
			if err != nil {
				t.Fatal(err)
			}

			var info struct {
				Size    int64  `json:"virtual-size"`
				Backing string `json:"backing-filename"`
			}
			if err := json.Unmarshal(out, &info); err != nil {
				t.Fatal(err)
			}

			if info.Size != tt.want || info.Backing != tt.backing {
				t.Errorf("got %d bytes on %q, want %d on %q", info.Size, info.Backing, tt.want, tt.backing)
			}
		})
	}

	if err := CreateOverlay(t.Context(), filepath.Join(dir, "x"), filepath.Join(dir, "none"), 1); err == nil {
		t.Error("an overlay on an image that does not exist did not fail")
	}
}
