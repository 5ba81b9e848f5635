// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/sys/mount"
)

func TestCheckArgs(t *testing.T) {
	for _, tt := range []struct {
		name, cmdline string
		missing       []string
	}{
		{"all there", "console=ttyS0 slab_nomerge pti=on quiet\n", nil},
		{"empty value", "slab_nomerge= pti=on", nil},
		{"nothing", "", []string{"slab_nomerge", "pti=on"}},
		{"other value", "slab_nomerge pti=auto", []string{"pti=on"}},
		{"the last one counts", "slab_nomerge pti=on pti=off", []string{"pti=on"}},
		{"overridden back", "slab_nomerge pti=off pti=on", nil},
		{"a prefix is another name", "slab_nomerge_all pti=on", []string{"slab_nomerge"}},
		{"behind the dashes is init's", "slab_nomerge -- pti=on", []string{"pti=on"}},
		{"a processor that is not affected", "pti=off", []string{"slab_nomerge"}},
	} {
		meltdown := "Mitigation: PTI\n"
		if strings.Contains(tt.name, "not affected") {
			meltdown = "Not affected\n"
		}

		t.Run(tt.name, func(t *testing.T) {
			err := CheckArgs(tt.cmdline, meltdown)
			if (err == nil) != (len(tt.missing) == 0) {
				t.Fatalf("got %v, want missing %q", err, tt.missing)
			}

			for _, arg := range tt.missing {
				if !strings.Contains(err.Error(), arg+" (") {
					t.Errorf("error does not name %s: %v", arg, err)
				}
			}
		})
	}
}

// The policy of mounts: never setuid, device files only in /dev, nothing both writable and executable.
func TestMountPolicy(t *testing.T) {
	mayExecute := []string{"/dev", "/run"} // see Mounts

	for _, p := range slices.Concat(initramfsMounts, Mounts(), LateMounts()) {
		if p.Flags&mount.NoSuid == 0 {
			t.Errorf("%s lacks nosuid", p.Target)
		}

		if p.Flags&mount.NoDev == 0 && p.Target != "/dev" && p.Target != "/dev/pts" {
			t.Errorf("%s lacks nodev", p.Target)
		}

		if p.Flags&mount.NoExec == 0 && !slices.Contains(mayExecute, p.Target) {
			t.Errorf("%s lacks noexec", p.Target)
		}
	}
}

// A mount point below another mount must come after it.
func TestMountOrder(t *testing.T) {
	mounts := Mounts()

	for i, p := range mounts {
		for _, later := range mounts[i+1:] {
			if strings.HasPrefix(p.Target, later.Target+"/") {
				t.Errorf("%s is mounted before %s, which would hide it", p.Target, later.Target)
			}
		}
	}
}

func TestRemoveTree(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"modules/deep", "dev"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	for _, f := range []string{"init", "modules/deep/a.ko"} {
		if err := os.WriteFile(filepath.Join(root, f), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.Symlink("/etc", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}

	if err := removeTree(root); err != nil {
		t.Fatal(err)
	}

	left, err := os.ReadDir(root)
	if err != nil || len(left) != 0 {
		t.Errorf("got %v, %v, want nothing left", left, err)
	}

	if _, err := os.Stat("/etc"); err != nil {
		t.Error("a link was followed")
	}
}

func TestLoadModulesErrors(t *testing.T) {
	if err := loadModules(filepath.Join(t.TempDir(), "absent")); err == nil {
		t.Error("a missing list was accepted")
	}

	list := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(list, []byte("/no/such.ko\n"), 0o644); err != nil {
		t.Fatal(err)
	}

	if err := loadModules(list); err == nil || !strings.Contains(err.Error(), "/no/such.ko") {
		t.Errorf("got %v, want an error that names the module", err)
	}
}

func TestPrefetch(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	if err := Prefetch(self); err != nil {
		t.Error(err)
	}

	f, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	parts, err := needed(f)
	if err != nil || len(parts) != 2 || parts[0].start != 0 {
		t.Fatalf("got %v, %v, want the parts before and after the table of lines", parts, err)
	}

	size, left := parts[1].end, parts[1].start-parts[0].end
	if info, err := os.Stat(self); err != nil || size != info.Size() || left < size/5 || left > size/2 {
		t.Errorf("%d of %d bytes are left out, want about two fifths of %v, %v", left, size, info, err)
	}

	if err := Prefetch(self + ".absent"); err == nil {
		t.Error("a missing program was fetched")
	}

	none := filepath.Join(t.TempDir(), "none")
	if err := os.WriteFile(none, []byte("no program"), 0o755); err != nil {
		t.Fatal(err)
	}

	if err := Prefetch(none); err == nil {
		t.Error("a file that is not a program was fetched")
	}
}
