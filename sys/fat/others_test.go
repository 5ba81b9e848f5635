// SPDX-License-Identifier: Apache-2.0

package fat_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/sys/blkid"
	"github.com/seed-59268b81/talos/sys/fat"
)

// TestOtherProgramsRead checks our file systems with mtools and our probe.
func TestOtherProgramsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "esp")

	for _, size := range []uint64{40 * mib, 300 * mib} {
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()

		if err := file.Truncate(int64(size)); err != nil {
			t.Fatal(err)
		}

		f := format(t, file, size)
		want := map[string]string{
			"/EFI/BOOT/BOOTX64.EFI":                   "loader",
			"/EFI/Linux/Talos-v1.2.3.efi":             strings.Repeat("kernel ", 100_000),
			"/EFI/Linux/Talos-v1.2.4~1.efi":           "small",
			"/EFI/Linux/Talos-v1.2.4-alpha.efi":       "",
			"/loader/loader.conf":                     "timeout 0\n",
			"/grub/a name with ümlauts, and dots.txt": "x",
		}

		for name, text := range want {
			create(t, f, name, text)
		}

		for name, text := range want {
			cmd := exec.Command(hosttest.Need(t, "mtype"), "-i", path, "::"+name)
			cmd.Env = append(os.Environ(), "MTOOLS_SKIP_CHECK=1", "LC_ALL=C.UTF-8")

			if got, err := cmd.Output(); err != nil || string(got) != text {
				t.Errorf("%s: got %d bytes, %v; want %d", name, len(got), err, len(text))
			}
		}

		if info, err := blkid.Probe(file, size, 512); err != nil || info.Name != blkid.VFAT || info.Label != "EFI" {
			t.Errorf("got %+v, %v", info, err)
		}

		got, err := files(f, "")
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("(-want +got):\n%s%v", d, err)
		}
	}
}

// TestOtherProgramsWrite reads and changes a file system that mtools wrote.
func TestOtherProgramsWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "esp")

	if err := os.WriteFile(path, make([]byte, 64*mib), 0o600); err != nil {
		t.Fatal(err)
	}

	run := func(name string, args ...string) string {
		t.Helper()

		//program:mformat,mmd,mcopy,mtype run names them
		cmd := exec.Command(hosttest.Need(t, name), append([]string{"-i", path}, args...)...)
		cmd.Env = append(os.Environ(), "MTOOLS_SKIP_CHECK=1")

		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}

		return string(out)
	}

	run("mformat", "-F", "-v", "EFI", "-T", fmt.Sprint(64*mib/512), "-h", "64", "-s", "32", "::")
	run("mmd", "::/EFI", "::/EFI/Linux")

	want := map[string]string{}

	for i := range 40 { // more than one cluster of entries, with names over two sectors
		name := fmt.Sprintf("/EFI/Linux/Talos-v1.%d.0-with-a-long-name-that-has-many-slots.efi", i)
		text := strings.Repeat(fmt.Sprint(i), 1000)
		source := filepath.Join(dir, "file")

		if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}

		run("mcopy", "-o", source, "::"+name)

		want[name] = text
	}

	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()

	f, err := fat.Open(file, 64*mib, now)
	if err != nil {
		t.Fatal(err)
	}

	for i := range 20 {
		name := fmt.Sprintf("/EFI/Linux/Talos-v1.%d.0-with-a-long-name-that-has-many-slots.efi", 2*i)
		delete(want, name)

		if err := f.Remove(name); err != nil {
			t.Fatal(err)
		}
	}

	for i := range 40 {
		name := fmt.Sprintf("/EFI/Linux/Talos-v2.%d.efi", i)
		want[name] = fmt.Sprint(i)
		create(t, f, name, want[name])
	}

	if lost, err := f.Reclaim(); lost != 0 || err != nil {
		t.Errorf("lost clusters: %d, %v", lost, err)
	}

	got, err := files(f, "")
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("(-want +got):\n%s%v", d, err)
	}

	for name, text := range want {
		if out := run("mtype", "::"+name); out != text {
			t.Errorf("%s: got %q", name, out)
		}
	}
}
