// SPDX-License-Identifier: Apache-2.0

package debian

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// elfFile returns the smallest ELF file that needs a loader and libraries.
func elfFile(t *testing.T, loader string, libraries ...string) []byte {
	t.Helper()

	const headers = 64 + 56 // file header, one program header

	strtab := []byte{0}

	var dynamic bytes.Buffer

	put := func(to *bytes.Buffer, v any) {
		if err := binary.Write(to, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}

	for _, l := range libraries {
		put(&dynamic, elf.Dyn64{Tag: int64(elf.DT_NEEDED), Val: uint64(len(strtab))})
		strtab = append(append(strtab, l...), 0)
	}

	put(&dynamic, elf.Dyn64{Tag: int64(elf.DT_NULL)})

	interp := append([]byte(loader), 0)
	interpAt := uint64(headers)
	strAt := interpAt + uint64(len(interp))
	dynAt := strAt + uint64(len(strtab))
	sectionsAt := dynAt + uint64(dynamic.Len())

	var f bytes.Buffer

	programs := uint16(0)
	if loader != "" {
		programs = 1
	}

	put(&f, elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT),
		Phoff: 64, Shoff: sectionsAt, Ehsize: 64, Phentsize: 56, Phnum: programs, Shentsize: 64, Shnum: 3, Shstrndx: 1,
	})
	put(&f, elf.Prog64{Type: uint32(elf.PT_INTERP), Off: interpAt, Filesz: uint64(len(interp)), Memsz: uint64(len(interp))})
	f.Write(interp)
	f.Write(strtab)
	f.Write(dynamic.Bytes())
	put(&f, elf.Section64{})
	put(&f, elf.Section64{Type: uint32(elf.SHT_STRTAB), Off: strAt, Size: uint64(len(strtab))})
	put(&f, elf.Section64{Type: uint32(elf.SHT_DYNAMIC), Off: dynAt, Size: uint64(dynamic.Len()), Link: 1, Entsize: 16})

	return f.Bytes()
}

const testLoader = "/lib64/ld-linux-x86-64.so.2"

// unpacked creates a tree as packages unpack it: some files in /sbin and /lib, some in /usr.
func unpacked(t *testing.T) string {
	t.Helper()

	tree := t.TempDir()
	files := map[string][]byte{
		"sbin/mkfs.xfs":                         elfFile(t, testLoader, "libblkid.so.1", "libc.so.6"),
		"usr/sbin/xfs_growfs":                   elfFile(t, testLoader, "libc.so.6"),
		"usr/sbin/needy":                        elfFile(t, testLoader, "libgone.so.3"),
		"usr/sbin/deep":                         elfFile(t, testLoader, "libneedy.so"),
		"usr/lib/libneedy.so":                   elfFile(t, "", "libgone.so.3"),
		"lib/x86_64-linux-gnu/libblkid.so.1.1":  elfFile(t, "", "libc.so.6", "libuuid.so.1"),
		"lib/x86_64-linux-gnu/libc.so.6":        elfFile(t, testLoader, "ld-linux-x86-64.so.2"),
		"lib/x86_64-linux-gnu/ld-2.36.so":       elfFile(t, ""),
		"usr/lib/x86_64-linux-gnu/libuuid.so.1": elfFile(t, "", "libc.so.6"),
		"usr/lib/x86_64-linux-gnu/libother.so":  elfFile(t, ""),
		"usr/lib/plugins/a.so":                  elfFile(t, "", "libb.so"),
		"usr/lib/plugins/libb.so":               elfFile(t, ""),
		"usr/share/doc/readme":                  []byte("not for us"),
		"etc/short":                             {0x7f},
		"etc/conf":                              []byte("key = value\n"),
	}
	links := map[string]string{
		"lib/x86_64-linux-gnu/libblkid.so.1":        "libblkid.so.1.1",
		"lib/x86_64-linux-gnu/ld-linux-x86-64.so.2": "ld-2.36.so",
		"lib64/ld-linux-x86-64.so.2":                "/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
		"usr/sbin/mkfs.alias":                       "/sbin/mkfs.xfs",
		"usr/sbin/dangling":                         "nowhere",
		"usr/sbin/circle":                           "circle",
	}

	for name, content := range files {
		if err := errors.Join(
			os.MkdirAll(filepath.Dir(filepath.Join(tree, name)), 0o755),
			os.WriteFile(filepath.Join(tree, name), content, 0o755),
		); err != nil {
			t.Fatal(err)
		}
	}

	for name, target := range links {
		if err := errors.Join(
			os.MkdirAll(filepath.Dir(filepath.Join(tree, name)), 0o755),
			os.Symlink(target, filepath.Join(tree, name)),
		); err != nil {
			t.Fatal(err)
		}
	}

	return tree
}

var libcClosure = []string{
	"usr/lib/x86_64-linux-gnu/ld-2.36.so",
	"usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
	"usr/lib/x86_64-linux-gnu/libc.so.6",
	"usr/lib64/ld-linux-x86-64.so.2",
}

func TestSelection(t *testing.T) {
	mkfs := append([]string{
		"usr/lib/x86_64-linux-gnu/libblkid.so.1", "usr/lib/x86_64-linux-gnu/libblkid.so.1.1",
		"usr/lib/x86_64-linux-gnu/libuuid.so.1", "usr/sbin/mkfs.xfs",
	}, libcClosure...)

	for name, test := range map[string]struct {
		add  []string
		want []string
		err  string
	}{
		"program and its libraries":   {add: []string{"usr/sbin/mkfs.xfs"}, want: mkfs},
		"by its path in the package":  {add: []string{"/sbin/mkfs.xfs"}, want: mkfs},
		"through a link":              {add: []string{"usr/sbin/mkfs.alias"}, want: append([]string{"usr/sbin/mkfs.alias"}, mkfs...)},
		"by pattern":                  {add: []string{"usr/sbin/xfs_*"}, want: append([]string{"usr/sbin/xfs_growfs"}, libcClosure...)},
		"folder, library beside":      {add: []string{"usr/lib/plugins"}, want: []string{"usr/lib/plugins/a.so", "usr/lib/plugins/libb.so"}},
		"not ELF":                     {add: []string{"etc/*"}, want: []string{"etc/conf", "etc/short"}},
		"link to itself ends":         {add: []string{"usr/sbin/circle"}, want: []string{"usr/sbin/circle"}},
		"no such file":                {add: []string{"usr/sbin/mkfs.zfs"}, err: `matches "usr/sbin/mkfs.zfs"`},
		"library in no package":       {add: []string{"usr/sbin/needy"}, err: "usr/sbin/needy needs libgone.so.3"},
		"library of a library":        {add: []string{"usr/sbin/deep"}, err: "usr/lib/libneedy.so needs libgone.so.3"},
		"link to nowhere":             {add: []string{"usr/sbin/dangling"}, err: "usr/sbin/nowhere"},
		"pattern that cannot be read": {add: []string{"usr/[sbin"}, err: "syntax error"},
	} {
		t.Run(name, func(t *testing.T) {
			s := Select(unpacked(t))

			err := s.Add(test.add...)
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Fatalf("got error %v, want one with %q", err, test.err)
			}

			if err != nil {
				return
			}

			want := map[string]bool{}
			for _, f := range test.want {
				want[f] = true
			}

			if diff := cmp.Diff(want, s.files); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMoveToGivesARootThatResolves(t *testing.T) {
	s := Select(unpacked(t))
	if err := s.Add("usr/sbin/mkfs.xfs", "usr/sbin/mkfs.alias"); err != nil {
		t.Fatal(err)
	}

	root := t.TempDir()
	if err := errors.Join(MergeUsr(root), s.MoveTo(root)); err != nil {
		t.Fatal(err)
	}

	// Every link has a target inside the root. Absolute targets are relative to the root.
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Type() != fs.ModeSymlink {
			return err
		}

		target, err := os.Readlink(filepath.Join(root, name))
		if err != nil {
			return err
		}

		if filepath.IsAbs(target) {
			target = filepath.Join(root, target)
		} else {
			target = filepath.Join(root, filepath.Dir(name), target)
		}

		if _, err := os.Lstat(target); err != nil {
			t.Errorf("link %s: %v", name, err)
		}

		return nil
	})
	if err != nil {
		t.Error(err)
	}

	if info, err := os.Stat(filepath.Join(root, "usr/sbin/mkfs.xfs")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("moved program: got %v, %v; want mode 0755", info, err)
	}
}
