// SPDX-License-Identifier: Apache-2.0

package module

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// tree writes files below a new folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()

	root := t.TempDir()
	for name, text := range files {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	return root
}

var index = map[string]string{
	fileDep: `kernel/fs/xfs/xfs.ko: kernel/lib/libcrc32c.ko kernel/lib/base.ko
kernel/lib/libcrc32c.ko: kernel/lib/base.ko
kernel/lib/base.ko:
kernel/crypto/crc32c_generic.ko:
kernel/drivers/virtio_net.ko.xz: kernel/drivers/net_failover.ko
kernel/drivers/net_failover.ko:
kernel/broken.ko: kernel/absent.ko
kernel/loop-a.ko:
kernel/loop-b.ko:
kernel/drivers/net/bonding/bonding.ko:
`,
	fileSoftdep: `# Soft dependencies extracted from modules themselves.
softdep libcrc32c pre: crc32c
softdep loop_a pre: loop_b
softdep loop_b post: loop_a
`,
	fileAlias: `alias crc32c crc32c_generic
alias fs-xfs xfs
alias virtio:d00000001v* virtio_net
alias acpi*:PNP0[c-f]0?:* base
`,
	fileBuiltin:        "kernel/fs/ext4/ext4.ko\n",
	fileBuiltinModinfo: "ext4.alias=fs-ext3\x00ext4.license=GPL\x00",
}

func TestLoad(t *testing.T) {
	for _, tt := range []struct {
		name, load string
		params     []string
		fail       map[string]error
		want       []string
		wantErr    string
	}{
		{name: "dependencies first, soft ones too", load: "xfs", want: []string{"base.ko", "crc32c_generic.ko", "libcrc32c.ko", "xfs.ko"}},
		{name: "alias with a hyphen", load: "fs-xfs", want: []string{"base.ko", "crc32c_generic.ko", "libcrc32c.ko", "xfs.ko"}},
		{name: "parameters go to the named one only", load: "virtio-net", params: []string{"a=1", "b=x"}, want: []string{"net_failover.ko", "virtio_net.ko.xz a=1 b=x"}},
		{name: "no links of their own", load: "bonding", want: []string{"bonding.ko max_bonds=0"}},
		{name: "unless it is told to create some", load: "bonding", params: []string{"max_bonds=2"}, want: []string{"bonding.ko max_bonds=0 max_bonds=2"}},
		{name: "device alias", load: "virtio:d00000001v00001AF4", want: []string{"net_failover.ko", "virtio_net.ko.xz"}},
		{name: "built in", load: "ext4"},
		{name: "alias of a built-in one", load: "fs-ext3"},
		{name: "cycle of soft dependencies", load: "loop_a", want: []string{"loop-b.ko", "loop-a.ko"}},
		{name: "loaded already", load: "net_failover", fail: map[string]error{"net_failover.ko": unix.EEXIST}, want: []string{"net_failover.ko"}},
		{name: "soft dependency fails", load: "libcrc32c", fail: map[string]error{"crc32c_generic.ko": unix.EIO}, want: []string{"crc32c_generic.ko", "base.ko", "libcrc32c.ko"}},
		{name: "unknown", load: "nope", wantErr: "load kernel module nope: no such kernel module in "},
		{name: "dependency not in the image", load: "broken", wantErr: "load kernel module broken: kernel/broken.ko needs kernel/absent.ko, which is not in "},
		{name: "dependency fails", load: "xfs", fail: map[string]error{"base.ko": unix.EKEYREJECTED}, want: []string{"base.ko", "crc32c_generic.ko", "base.ko"}, wantErr: "insert kernel/lib/base.ko: key was rejected by service (the module is not signed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string

			l := Loader{Root: tree(t, index), Insert: func(file, params string) error {
				got = append(got, strings.TrimSpace(filepath.Base(file)+" "+params))

				return tt.fail[filepath.Base(file)]
			}}

			err := l.Load(tt.load, tt.params...)
			if (err != nil) != (tt.wantErr != "") || err != nil && !strings.Contains(err.Error(), tt.wantErr) {
				t.Errorf("Load(%q): got error %v, want %q", tt.load, err, tt.wantErr)
			}

			if tt.name == "dependency fails" {
				got, tt.want = got[:1], tt.want[:1] // what follows an error is not compared
			}

			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("inserted (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadIndexErrors(t *testing.T) {
	for _, tt := range []struct{ name, file, text, want string }{
		{"no colon", fileDep, "kernel/a.ko\n", "line 1: want `path.ko: dependencies`"},
		{"outside", fileDep, "../../a.ko:\n", "leaves the modules directory"},
		{"alias", fileAlias, "alias a\n", "want `alias pattern module`"},
		{"softdep", fileSoftdep, "\nsoft a\n", "line 2: want `softdep"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{fileDep: "", tt.file: tt.text}

			_, err := ReadIndex(tree(t, files))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}

	if _, err := ReadIndex(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without modules.dep: got %v, want not exist", err)
	}
}

func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		pattern, s string
		want       bool
	}{
		{"pci:v00001AF4d00001000sv*", "pci:v00001AF4d00001000sv00001AF4", true},
		{"pci:v*d*", "usb:v1d2", false},
		{"a*b*c", "a/xx/b/yy/c", true},
		{"a*b*c", "abcd", false},
		{"?", "", false},
		{"*", "", true},
		{"[0-9A]x", "7x", true},
		{"[0-9A]x", "Bx", false},
		{"[!0-9]x", "Bx", true},
		{"[]", "a", false},
		{"[", "[", false},
	} {
		if got := glob(tt.pattern, tt.s); got != tt.want {
			t.Errorf("glob(%q, %q) = %v, want %v", tt.pattern, tt.s, got, tt.want)
		}
	}
}

func FuzzGlob(f *testing.F) {
	f.Add("a*[b-c]?", "axxbz")
	f.Fuzz(func(t *testing.T, pattern, s string) {
		glob(pattern, s)

		if !strings.ContainsAny(pattern, "*?[") && glob(pattern, s) != (pattern == s) {
			t.Errorf("literal %q against %q", pattern, s)
		}
	})
}

func TestColdplugFollowsNewDevices(t *testing.T) {
	root := tree(t, map[string]string{
		fileDep:   "kernel/bus.ko:\nkernel/card.ko:\nkernel/cpu.ko:\n",
		fileAlias: "alias pci:v1* bus\nalias virtio:d1v* card\nalias cpu:* cpu\n",
	})
	sysfs := tree(t, map[string]string{
		"devices/pci0/0/modalias": "pci:v1d2\n", "devices/cpu0/modalias": "cpu:x\n", "devices/pci0/1/modalias": "pci:unknown\n",
	})

	var got []string

	l := Loader{Root: root, Insert: func(file, _ string) error {
		got = append(got, filepath.Base(file))

		switch filepath.Base(file) {
		case "bus.ko": // the bus driver adds a device
			if err := os.MkdirAll(filepath.Join(sysfs, "devices/pci0/0/virtio0"), 0o755); err != nil {
				return err
			}

			return os.WriteFile(filepath.Join(sysfs, "devices/pci0/0/virtio0/modalias"), []byte("virtio:d1v1\n"), 0o644)
		case "cpu.ko":
			return unix.ENODEV // a driver without hardware is not an error
		}

		return nil
	}}

	if err := l.Coldplug(sysfs); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff([]string{"bus.ko", "card.ko", "cpu.ko"}, got); diff != "" {
		t.Errorf("inserted (-want +got):\n%s", diff)
	}
}

// TestColdplugLoadsCardsFirst: a disk's driver comes before that of a screen, though the screen is on an earlier slot.
func TestColdplugLoadsCardsFirst(t *testing.T) {
	const disk, screen = "pci:v1bc01sc00i00", "pci:v1bc03sc00i00"

	var got []string

	l := Loader{
		Root: tree(t, map[string]string{fileDep: "kernel/disk.ko:\nkernel/screen.ko:\n", fileAlias: "alias " + screen + " screen\nalias " + disk + " disk\n"}),
		Insert: func(file, _ string) error {
			got = append(got, filepath.Base(file))

			return nil
		},
	}

	sysfs := tree(t, map[string]string{
		"devices/pci0/0/modalias": screen, "bus/pci/devices/0/modalias": screen,
		"devices/pci0/1/modalias": disk, "bus/pci/devices/1/modalias": disk,
	})

	if err := l.Cards(sysfs); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff([]string{"disk.ko"}, got); diff != "" {
		t.Errorf("inserted of cards (-want +got):\n%s", diff)
	}

	got = nil

	if err := l.Coldplug(sysfs); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff([]string{"disk.ko", "screen.ko"}, got); diff != "" {
		t.Errorf("inserted (-want +got):\n%s", diff)
	}
}

// Loaded modules, and what they need, are not inserted again.
func TestLoadedIsLeftAlone(t *testing.T) {
	var got []string

	sysfs := tree(t, map[string]string{"module/libcrc32c/initstate": "live\n", "module/xfs/initstate": "coming\n"})
	l := Loader{Root: tree(t, index), Sysfs: sysfs, Insert: func(file, _ string) error {
		got = append(got, filepath.Base(file))

		return nil
	}}

	if err := l.Load("xfs"); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff([]string{"base.ko", "xfs.ko"}, got); diff != "" {
		t.Errorf("inserted (-want +got):\n%s", diff)
	}
}

func TestModprobe(t *testing.T) {
	for _, tt := range []struct {
		args   []string
		code   int
		stderr string
	}{
		{[]string{"-q", "--", "fs-xfs"}, 0, ""},
		{[]string{"-q", "--", "nope"}, 1, ""},
		{[]string{"nope"}, 1, "no such kernel module"},
		{[]string{"-q"}, 2, "no kernel module given"},
	} {
		var stderr bytes.Buffer

		l := &Loader{Root: tree(t, index), Insert: func(string, string) error { return nil }}
		if code := Modprobe(l, tt.args, &stderr); code != tt.code || !strings.Contains(stderr.String(), tt.stderr) || (tt.stderr == "" && stderr.Len() > 0) {
			t.Errorf("Modprobe(%q) = %d with %q, want %d with %q", tt.args, code, stderr.String(), tt.code, tt.stderr)
		}
	}
}

// TestOnRequest: modules that any program can make the kernel request are not loaded; those that the system names or needs are.
func TestOnRequest(t *testing.T) {
	files := map[string]string{
		fileDep: "kernel/net/sctp/sctp.ko:\nkernel/crypto/af_alg.ko:\nkernel/net/vsock.ko:\nkernel/drivers/transport.ko: kernel/net/vsock.ko\nkernel/net/unix.ko:\n",
		fileAlias: "alias net-pf-2-proto-132 sctp\nalias net-pf-38 af_alg\nalias net-pf-40 vsock\nalias virtio:d00000013v* transport\nalias net-pf-1 unix\n" +
			"alias net-pf-99 unix\nalias net-pf-99 sctp\n",
		fileSoftdep: "", fileBuiltin: "", fileBuiltinModinfo: "",
	}

	for asked, want := range map[string][]string{
		"net-pf-2-proto-132":              nil,
		"net-pf-38":                       nil,
		"net-pf-40":                       nil,
		"net-pf-99":                       nil, // one of two
		"net-pf-1":                        {"unix.ko"},
		"sctp":                            {"sctp.ko"},
		"af-alg":                          {"af_alg.ko"},
		"virtio:d00000013v00001AF4":       {"vsock.ko", "transport.ko"},
		"net-pf-2-proto-132-and-so-forth": nil,
	} {
		var (
			got    []string
			stderr bytes.Buffer
		)

		l := &Loader{Root: tree(t, files), Insert: func(file, _ string) error {
			got = append(got, filepath.Base(file))

			return nil
		}}

		code := Modprobe(l, []string{"-q", "--", asked}, &stderr)
		if diff := cmp.Diff(want, got); diff != "" || (code == 0) != (want != nil) {
			t.Errorf("%s: code %d, %s(-want +got):\n%s", asked, code, &stderr, diff)
		}
	}
}

// TestWriteSubset holds that an image's index has only its modules, with all that depmod wrote about them.
func TestWriteSubset(t *testing.T) {
	files := map[string]string{
		fileDep:     "# a comment\nkernel/a.ko.xz: kernel/b-lib.ko kernel/c.ko\nkernel/b-lib.ko: kernel/c.ko\nkernel/other.ko: kernel/c.ko\nkernel/c.ko:\n",
		fileAlias:   "# Aliases\nalias pci:v1_x* a\nalias pci:v2* other\nalias net-pf-1 b_lib\n",
		fileSoftdep: "softdep b_lib pre: sha256 post: d\nsoftdep other pre: a\n",
	}

	root, target := tree(t, files), tree(t, map[string]string{fileBuiltin: "kernel/fs/ext4/ext4.ko\n", fileBuiltinModinfo: "ext4.alias=fs-ext4\x00"})

	if err := WriteSubset(root, target, []string{"kernel/c.ko", "kernel/b-lib.ko", "kernel/a.ko.xz"}); err != nil {
		t.Fatal(err)
	}

	for file, want := range map[string]string{
		fileDep:     "kernel/a.ko.xz: kernel/b-lib.ko kernel/c.ko\nkernel/b-lib.ko: kernel/c.ko\nkernel/c.ko:\n",
		fileSoftdep: "softdep b_lib pre: sha256 post: d\n",
		fileAlias:   "alias pci:v1_x* a\nalias net-pf-1 b_lib\n",
	} {
		got, err := os.ReadFile(filepath.Join(target, file))
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}

	again, err := ReadIndex(target)
	if err != nil {
		t.Fatal(err)
	}

	got, err := again.Closure("a", "fs-ext4")
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff([]string{"kernel/c.ko", "kernel/b-lib.ko", "kernel/a.ko.xz"}, got); diff != "" {
		t.Errorf("closure (-want +got):\n%s", diff)
	}

	if err := WriteSubset(root, target, []string{"kernel/b-lib.ko"}); err == nil || !strings.Contains(err.Error(), "depends on kernel/c.ko, which is missing") {
		t.Errorf("without a dependency: got %v, want an error that names it", err)
	}
}

func TestDecompressErrors(t *testing.T) {
	for file, want := range map[string]string{"a.ko.xz": "unexpected EOF", "a.ko.zst": "invalid input"} {
		if _, err := decompress(file, strings.NewReader("junkjunk")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", file, err, want)
		}
	}
}

func TestParseLoaded(t *testing.T) {
	got, err := ParseLoaded([]byte("xfs 1777664 2 - Live 0x0000000000000000\nlibcrc32c 16384 4 xfs,nf_nat, Live 0x0 (E)\nperm 1 - [permanent], Live 0x0\n"))
	if err != nil {
		t.Fatal(err)
	}

	want := []Loaded{
		{Name: "xfs", Size: 1777664, References: 2, State: "Live", Address: "0x0000000000000000"},
		{Name: "libcrc32c", Size: 16384, References: 4, Dependencies: []string{"xfs", "nf_nat"}, State: "Live", Address: "0x0"},
		{Name: "perm", Size: 1, References: -1, State: "Live", Address: "0x0"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	for _, bad := range []string{"xfs 1\n", "xfs a 1 - Live 0x0\n", "xfs 1 a - Live 0x0\n"} {
		if _, err := ParseLoaded([]byte(bad)); err == nil {
			t.Errorf("ParseLoaded(%q): got no error", bad)
		}
	}
}
