// SPDX-License-Identifier: Apache-2.0

package imager

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/build/image"
	"github.com/seed-59268b81/talos/build/pe/petest"
	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/install/release"
	"github.com/seed-59268b81/talos/sys/efivar"
	"github.com/seed-59268b81/talos/sys/fat"
	"github.com/seed-59268b81/talos/sys/gpt"
	"github.com/seed-59268b81/talos/sys/meta"
)

const (
	stockArgs = "slab_nomerge talos.platform=metal"
	efiSize   = 36 << 20
)

// inputs returns small inputs.
func inputs(t testing.TB) Inputs {
	t.Helper()

	dir := t.TempDir()
	write := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}

		return path
	}

	in := Inputs{
		Stub: write("stub", petest.Stub(petest.AMD64)), Loader: write("loader", []byte("loader")),
		ImageCache: write("cache", bytes.Repeat([]byte("cache"), 300_000)), efiSize: efiSize, bootSize: efiSize,
		GRUBBoot:   write("boot.img", append(bytes.Repeat([]byte("b"), 510), 0x55, 0xaa)),
		GRUBCore:   write("core.img", slices.Concat(make([]byte, 510), []byte("\x20\x08"), bytes.Repeat([]byte("core"), 1000))),
		GRUBHybrid: write("hybrid.img", append(bytes.Repeat([]byte("h"), 510), 0x55, 0xaa)),
		GRUBCD:     write("cd.img", bytes.Repeat([]byte("cd.image"), 1000)),
	}

	joined, err := image.UKI{
		OSRelease: "NAME=\"Talos\"\nVERSION_ID=v9.8.7\n", Cmdline: stockArgs, Release: "6.1.0", Kernel: []byte("kernel"), Initramfs: []byte("initramfs"),
	}.Join(in.Stub)
	if err != nil {
		t.Fatal(err)
	}

	in.UKI = write("uki", joined)

	return in
}

func mustMake(t *testing.T, p Profile, in Inputs) []string {
	t.Helper()

	p, err := p.Complete()
	if err != nil {
		t.Fatal(err)
	}

	files, err := Make(t.Context(), p, in, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	return files
}

func read(t *testing.T, file string) []byte {
	t.Helper()

	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	return b
}

// TestMake makes artifacts of each form twice, at different times. The bytes are the same.
func TestMake(t *testing.T) {
	in := inputs(t)
	small := func(name string) Profile {
		return Profile{Base: name, Output: Output{Disk: DiskOptions{Size: 128 << 20}}}
	}
	packed := func(p Packing, f DiskFormat) Profile {
		return Profile{Base: "metal", Output: Output{Packing: p, Disk: DiskOptions{Format: f}}}
	}

	for name, test := range map[string]struct {
		profile Profile
		want    []string
	}{
		"metal":     {Profile{Base: "metal"}, []string{"metal-amd64.raw.zst"}},
		"raw":       {packed(Unpacked, Raw), []string{"metal-amd64.raw"}},
		"qcow2":     {packed("", Qcow2), []string{"metal-amd64.qcow2"}},
		"tar":       {packed(Tar, Raw), []string{"metal-amd64.tar.gz"}},
		"akamai":    {Profile{Base: "akamai"}, []string{"akamai-amd64.raw.gz"}},
		"azure":     {small("azure"), []string{"azure-amd64.vhd"}},
		"oracle":    {small("oracle"), []string{"oracle-amd64.qcow2"}},
		"iso":       {Profile{Base: "iso"}, []string{"iso-amd64.iso"}},
		"installer": {Profile{Base: "installer"}, []string{"installer-amd64.tar"}},
		"metal-uki": {Profile{Base: "metal-uki"}, []string{"metal-uki-amd64.efi"}},
		"pxe":       {Profile{Base: "pxe"}, []string{"pxe-amd64-vmlinuz", "pxe-amd64-initramfs.img", "pxe-amd64-cmdline", "pxe-amd64.efi"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			first := mustMake(t, test.profile, in)

			for start := time.Now().Unix(); time.Now().Unix() == start; {
				time.Sleep(10 * time.Millisecond) // the resolution of times is one second
			}

			second := mustMake(t, test.profile, in)

			var got []string

			for i, file := range first {
				got = append(got, filepath.Base(file))

				if !bytes.Equal(read(t, file), read(t, second[i])) {
					t.Errorf("%s has other bytes the second time", got[i])
				}
			}

			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("files (-want +got):\n%s", d)
			}

			// Nothing else stays.
			if entries, err := os.ReadDir(filepath.Dir(first[0])); err != nil || len(entries) != len(first) {
				t.Errorf("got %d files in the folder, %v", len(entries), err)
			}
		})
	}
}

// part returns a partition of a raw disk.
func part(t *testing.T, file, label string) []byte {
	t.Helper()

	b := read(t, file)

	table, err := gpt.Read(bytes.NewReader(b), uint64(len(b)), 512)
	if err != nil || table.Repair != "" {
		t.Fatalf("%v, repair %q", err, table.Repair)
	}

	p, there := table.Find(label)
	if !there {
		t.Fatalf("there is no partition %s", label)
	}

	return b[p.First*512:][:p.Sectors()*512]
}

// memory is a partition.
type memory []byte

func (m memory) ReadAt(b []byte, at int64) (int, error)  { return bytes.NewReader(m).ReadAt(b, at) }
func (m memory) WriteAt(b []byte, at int64) (int, error) { return copy(m[at:], b), nil }
func (m memory) Sync() error                             { return nil }

// TestArguments makes a disk for a cloud: the image is that of the build, with the arguments beside it, which an upgrade passes on.
func TestArguments(t *testing.T) {
	in := inputs(t)
	file := mustMake(t, Profile{
		Base: "aws", Customization: Customization{KernelArgs: []string{"debug"}}, Output: Output{Packing: Unpacked},
	}, in)[0]

	f, err := fat.Open(memory(part(t, file, "EFI")), efiSize, time.Time{})
	if err != nil {
		t.Fatal(err)
	}

	const args = stockArgs + " talos.platform=aws debug"

	for name, want := range map[string]string{
		"/EFI/Linux/Talos-v9.8.7.efi":       string(read(t, in.UKI)),
		"/loader/loader.conf":               "timeout 0\neditor no\ndefault Talos-v9.8.7.conf\n",
		"/loader/entries/Talos-v9.8.7.conf": "title Talos v9.8.7\nefi /EFI/Linux/Talos-v9.8.7.efi\noptions " + args + "\n",
		"/EFI/BOOT/BOOTX64.EFI":             "loader",
		"/EFI/systemd/systemd-bootx64.efi":  "loader",
	} {
		if got, err := f.ReadFile(name, 1<<20); err != nil || string(got) != want {
			t.Errorf("%s: got %.200q, %v, want %.200q", name, got, err, want)
		}
	}

	l := loader.SystemdBoot{ESP: f, Vars: efivar.Dir(t.TempDir())}

	id, err := l.Add(t.Context(), loader.System{Version: "v10.0.0", UKI: install.Bytes([]byte("uki")), Cmdline: "new"})
	if err != nil {
		t.Fatal(err)
	}

	if got, err := f.ReadFile("/loader/entries/"+id, 1<<10); err != nil || !strings.Contains(string(got), "options new talos.platform=aws debug\n") {
		t.Errorf("after an upgrade: got %q, %v", got, err)
	}

	// The default entry is the one that was there.
	if got, err := l.Default(); err != nil || got != "Talos-v9.8.7.conf" {
		t.Errorf("default: got %q, %v", got, err)
	}
}

// TestSecret lets only their owner read the files of an image with a configuration.
func TestSecret(t *testing.T) {
	in := inputs(t)

	for _, base := range []string{"metal", "iso", "installer", "metal-uki", "pxe"} {
		for _, file := range mustMake(t, Profile{Base: base, Customization: Customization{Config: "machine:\n  type: worker\n"}}, in) {
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}

			if info.Mode() != 0o600 {
				t.Errorf("%s: got the mode %v, want that only its owner reads it", filepath.Base(file), info.Mode())
			}
		}
	}
}

// TestCustomized makes artifacts with all that can be added, and finds it in each.
func TestCustomized(t *testing.T) {
	in := inputs(t)
	custom := Customization{KernelArgs: []string{"debug", "x=1"}, Config: "machine:\n  type: worker\n"}

	const args = stockArgs + " debug x=1"

	check := func(u image.UKI) {
		t.Helper()

		if u.Cmdline != args {
			t.Errorf("command line: got %q, want %q", u.Cmdline, args)
		}

		rest, found := bytes.CutPrefix(u.Initramfs, []byte("initramfs\x00\x00\x00"))
		if !found {
			t.Fatalf("initramfs: got %.40q", u.Initramfs)
		}

		list := exec.Command(hosttest.Need(t, "cpio"), "-tv", "--quiet")
		list.Stdin = bytes.NewReader(rest)

		out, err := list.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "-rw-------") || !strings.Contains(string(out), " usr/local/etc/talos/config.yaml\n") {
			t.Errorf("archive: %v\n%s", err, out)
		}

		if !bytes.Contains(rest, []byte(custom.Config)) {
			t.Error("the archive lacks the configuration")
		}
	}

	uki := mustMake(t, Profile{Base: "metal-uki", Customization: custom}, in)[0]

	u, err := image.ReadUKI(uki)
	if err != nil {
		t.Fatal(err)
	}

	check(u)

	pxe := mustMake(t, Profile{Base: "pxe", Customization: custom}, in)
	check(image.UKI{Cmdline: strings.TrimSuffix(string(read(t, pxe[2])), "\n"), Initramfs: read(t, pxe[1])})

	// A release has both forms.
	layout := t.TempDir()
	unpack := exec.Command(hosttest.Need(t, "cpio"), "-id", "--quiet", "-F", mustMake(t, Profile{Base: "installer", Customization: custom}, in)[0])
	unpack.Dir = layout

	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("cpio: %v: %s", err, out)
	}

	r, err := release.Open(release.Layout(layout))
	if err != nil {
		t.Fatal(err)
	}

	if r.Version != "v9.8.7" || r.Cmdline != args {
		t.Errorf("release: got version %s, command line %q", r.Version, r.Cmdline)
	}

	for _, name := range []string{release.Loader, release.Kernel, release.Initramfs, release.GRUBBoot, release.GRUBCore} {
		if _, there := r.File(name); !there {
			t.Errorf("release: it has no %s", name)
		}
	}

	custom.Meta = []MetaValue{{Key: 10, Value: "network"}}
	disk := mustMake(t, Profile{Base: "metal", Customization: custom, Output: Output{Packing: Unpacked}}, in)[0]

	values, err := meta.Open(memory(part(t, disk, "META")))
	if err != nil {
		t.Fatal(err)
	}

	if got, _ := values.Get(meta.MetalNetworkPlatformConfig); string(got) != "network" {
		t.Errorf("META: got %q", got)
	}
}

func TestBadInputs(t *testing.T) {
	p, err := Profile{Base: "metal"}.Complete()
	if err != nil {
		t.Fatal(err)
	}

	for name, test := range map[string]struct {
		change func(*Inputs, *Profile)
		want   string
	}{
		"nothing built": {func(in *Inputs, _ *Profile) { in.ImageCache += ".gone" }, "is missing: run make build first"},
		"not an image":  {func(in *Inputs, _ *Profile) { in.UKI = in.Loader }, "unified kernel image loader: "},
		"a stub":        {func(in *Inputs, _ *Profile) { in.UKI = in.Stub }, "it has no section"},
		"a small disk":  {func(_ *Inputs, p *Profile) { p.Output.Disk.Size = 32 << 20 }, "choose a multiple of 1 MiB, at least 78 MiB"},
		"an odd disk":   {func(_ *Inputs, p *Profile) { p.Output.Disk.Size = 64<<20 + 1 }, "choose a multiple of 1 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			in, p, dir := inputs(t), p, t.TempDir()
			test.change(&in, &p)

			if _, err := Make(t.Context(), p, in, dir); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}

			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("got %v in the folder, %v", left, err)
			}
		})
	}
}

// TestWarnings: an image for servers with a kernel for virtual machines gives a warning, and others do not.
func TestWarnings(t *testing.T) {
	for _, tt := range []struct {
		release, profile string
		warns            bool
	}{
		{"6.12.1-cloud-amd64", "metal", true},
		{"6.12.1-cloud-amd64", "iso", true},
		{"6.12.1-cloud-amd64", "nocloud", false},
		{"6.12.1-cloud-amd64", "installer", false},
		{"6.12.1-amd64", "metal", false},
	} {
		in := inputs(t)

		u, err := image.ReadUKI(in.UKI)
		if err != nil {
			t.Fatal(err)
		}

		u.Release = tt.release

		joined, err := u.Join(in.Stub)
		if err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(in.UKI, joined, 0o600); err != nil {
			t.Fatal(err)
		}

		p, err := Profile{Base: tt.profile}.Complete()
		if err != nil {
			t.Fatal(err)
		}

		if got, err := Warnings(p, in); err != nil || (len(got) > 0) != tt.warns {
			t.Errorf("%s with the kernel %s: got %q, %v", tt.profile, tt.release, got, err)
		}
	}
}

// TestBuiltKernelImage takes the image of the build apart and joins it: the bytes are the same, so the disk of the profile metal is that of
// the build.
func TestBuiltKernelImage(t *testing.T) {
	built, err := artifact.Find()
	if err != nil {
		t.Fatal(err)
	}

	in := Built(built)
	if _, err := os.Stat(in.UKI); err != nil {
		hosttest.NotBuilt(t, err)
	}

	u, err := image.ReadUKI(in.UKI)
	if err != nil {
		t.Fatal(err)
	}

	joined, err := u.Join(in.Stub)
	if err != nil || !bytes.Equal(joined, read(t, in.UKI)) {
		t.Errorf("got %d other bytes, %v", len(joined), err)
	}
}
