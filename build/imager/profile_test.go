// SPDX-License-Identifier: Apache-2.0

package imager

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-59268b81/talos/sys/platform/cloud"
)

// TestProfiles checks that each profile can be made as it is, and that each cloud has one.
func TestProfiles(t *testing.T) {
	for _, name := range Names() {
		p, err := Profile{Base: name}.Complete()
		if err != nil {
			t.Error(err)
		}

		if p.Platform != metal && p.Platform != name {
			t.Errorf("%s: got the platform %s", name, p.Platform)
		}
	}

	for _, name := range cloud.Names() {
		if !slices.Contains(Names(), name) {
			t.Errorf("cloud %s has no profile", name)
		}
	}
}

func TestComplete(t *testing.T) {
	for name, test := range map[string]struct {
		set  Profile
		want Output
	}{
		"name":               {Profile{Base: "azure"}, Output{Image, Unpacked, DiskOptions{Size: 8 << 30, Format: VHD}}},
		"a machine":          {Profile{Base: "vmware"}, Output{Image, Unpacked, DiskOptions{Size: 8 << 30, Format: OVA}}},
		"another size":       {Profile{Base: "azure", Output: Output{Disk: DiskOptions{Size: 1 << 30}}}, Output{Image, Unpacked, DiskOptions{Size: 1 << 30, Format: VHD}}},
		"another format":     {Profile{Base: "metal", Output: Output{Disk: DiskOptions{Format: Qcow2}}}, Output{Image, Unpacked, DiskOptions{Format: Qcow2}}},
		"another packing":    {Profile{Base: "metal", Output: Output{Packing: Gzip}}, Output{Image, Gzip, DiskOptions{Format: Raw}}},
		"another kind":       {Profile{Base: "azure", Output: Output{Kind: ISO}}, Output{ISO, Unpacked, DiskOptions{Format: Raw}}},
		"a packed format":    {Profile{Base: "aws", Output: Output{Packing: Zstd, Disk: DiskOptions{Format: Qcow2}}}, Output{Image, Zstd, DiskOptions{Format: Qcow2}}},
		"a multiple is kept": {Profile{Base: "gcp"}, Output{Image, Tar, DiskOptions{Format: Raw, multiple: 1 << 30}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := test.set.Complete()
			if err != nil {
				t.Fatal(err)
			}

			if d := cmp.Diff(test.want, got.Output, cmp.AllowUnexported(DiskOptions{})); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}

			if again, err := got.Complete(); err != nil || !cmp.Equal(got, again, cmp.AllowUnexported(DiskOptions{})) {
				t.Errorf("completed once more: got %+v, %v", again, err)
			}
		})
	}
}

func TestBadProfiles(t *testing.T) {
	metalWith := func(c Customization) Profile { return Profile{Base: "metal", Customization: c} }

	for name, test := range map[string]struct {
		profile Profile
		want    string
	}{
		"unknown":          {Profile{Base: "moon"}, `there is no profile "moon": choose one of akamai, alibabacloud, aws`},
		"architecture":     {Profile{Base: "metal", Arch: "arm64"}, `profile metal: arch: "arm64" is not supported, only [amd64]`},
		"platform":         {Profile{Base: "metal", Platform: "moon"}, `platform: "moon" is not supported`},
		"kind":             {Profile{Base: "metal", Output: Output{Kind: "tape"}}, `output.kind: "tape" is not supported, only [image iso`},
		"format":           {Profile{Base: "metal", Output: Output{Disk: DiskOptions{Format: "vmdk"}}}, `"vmdk" is not supported, only [raw qcow2 vhd ova]`},
		"packing":          {Profile{Base: "metal", Output: Output{Packing: ".rar"}}, `output.outFormat: ".rar" is not supported`},
		"two words":        {metalWith(Customization{KernelArgs: []string{"a b"}}), `kernel argument "a b": it must be one word`},
		"no word":          {metalWith(Customization{KernelArgs: []string{""}}), `must be one word`},
		"configuration":    {metalWith(Customization{Config: "machine: [\n"}), "embedded configuration: "},
		"unknown document": {metalWith(Customization{Config: "apiVersion: v1alpha1\nkind: Moon\n"}), "Moon"},
		"META's own":       {metalWith(Customization{Meta: []MetaValue{{Key: 0x80}}}), "META: key 0x80: only the system writes it"},
		"META twice":       {metalWith(Customization{Meta: []MetaValue{{10, "a"}, {10, "b"}}}), "META: key 0x0a is there twice"},
		"META of a CD":     {Profile{Base: "iso", Customization: Customization{Meta: []MetaValue{{10, "a"}}}}, "only disk images have META"},
		"images on a disk": {Profile{Base: "metal", Output: Output{Disk: DiskOptions{ImageCache: true}}}, "imageCache adds container images to a CD"},
		"size of a CD":     {Profile{Base: "iso", Output: Output{Disk: DiskOptions{Size: 1 << 30}}}, "those of disk images"},
		"archive of qcow2": {Profile{Base: "gcp", Output: Output{Packing: Tar, Disk: DiskOptions{Format: Qcow2}}}, "a disk in an archive is raw"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := test.profile.Complete(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestRead(t *testing.T) {
	got, err := Read(strings.NewReader(`
baseProfileName: metal
arch: amd64
platform: nocloud
customization:
  extraKernelArgs: [debug, panic=0]
  metaContents:
    - {key: 0xa, value: text}
output:
  kind: image
  outFormat: .gz
  imageOptions: {diskSize: 4294967296, diskFormat: raw}
`))
	want := Profile{
		Base: "metal", Arch: "amd64", Platform: "nocloud",
		Customization: Customization{KernelArgs: []string{"debug", "panic=0"}, Meta: []MetaValue{{10, "text"}}},
		Output:        Output{Image, Gzip, DiskOptions{Size: 4 << 30, Format: Raw}},
	}

	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(DiskOptions{})); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}

	for text, want := range map[string]string{
		"":                                 "it is empty",
		"arch: amd64":                      "baseProfileName is missing",
		"baseProfileName: metal\nsize: 12": "size",
		"[":                                "profile: ",
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestWith(t *testing.T) {
	p := Profile{Base: "metal", Customization: Customization{KernelArgs: []string{"a"}}, Output: Output{Packing: Gzip}}
	got := p.With(Profile{Platform: "aws", Customization: Customization{KernelArgs: []string{"b"}}, Output: Output{Disk: DiskOptions{Format: Qcow2}}})
	want := Profile{
		Base: "metal", Platform: "aws", Customization: Customization{KernelArgs: []string{"a", "b"}}, Output: Output{Disk: DiskOptions{Format: Qcow2}},
	}

	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(DiskOptions{}), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestWithForm sets a kind and a format over those of a profile or its base. What is set once more changes nothing.
func TestWithForm(t *testing.T) {
	raw := DiskOptions{Format: Raw}

	for name, test := range map[string]struct {
		base         string
		profile, set Output
		want         Output
	}{
		"the kind of the base":       {"metal", Output{Packing: Gzip}, Output{Kind: Image}, Output{Image, Gzip, raw}},
		"the format of the base":     {"metal", Output{Packing: Gzip}, Output{Disk: raw}, Output{Image, Gzip, raw}},
		"the kind of the profile":    {"iso", Output{Kind: Image, Packing: Gzip}, Output{Kind: Image}, Output{Image, Gzip, raw}},
		"the usual format":           {"iso", Output{Kind: Image, Packing: Gzip}, Output{Disk: raw}, Output{Image, Gzip, raw}},
		"the size of a base's form":  {"azure", Output{Disk: DiskOptions{Size: gib}}, Output{Kind: Image}, Output{Image, Unpacked, DiskOptions{Size: gib, Format: VHD}}},
		"another kind":               {"metal", Output{Packing: Gzip}, Output{Kind: ISO}, Output{ISO, Unpacked, raw}},
		"the kind of the base again": {"metal", Output{Kind: ISO, Disk: DiskOptions{ImageCache: true}}, Output{Kind: Image}, Output{Image, Zstd, raw}},
		"another format":             {"metal", Output{Packing: Gzip}, Output{Disk: DiskOptions{Format: VHD}}, Output{Image, Unpacked, DiskOptions{Format: VHD}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Profile{Base: test.base, Output: test.profile}.With(Profile{Output: test.set}).Complete()
			if d := cmp.Diff(test.want, got.Output, cmpopts.IgnoreUnexported(DiskOptions{})); err != nil || d != "" {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
		})
	}
}

// FuzzRead writes each profile that can be read, and reads it again.
func FuzzRead(f *testing.F) {
	f.Add([]byte("baseProfileName: metal\ncustomization: {extraKernelArgs: [a]}\noutput: {kind: iso}\n"))
	f.Add([]byte("baseProfileName: aws\ncustomization: {metaContents: [{key: 12, value: x}]}\n"))
	f.Add([]byte("baseProfileName: [1]"))

	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Read(bytes.NewReader(b))
		if err != nil {
			return
		}

		if p, err = p.Complete(); err != nil {
			return
		}

		var text bytes.Buffer
		if err := p.Write(&text); err != nil {
			t.Fatal(err)
		}

		again, err := Read(&text)
		if err == nil {
			again, err = again.Complete()
		}

		if d := cmp.Diff(p, again, cmp.AllowUnexported(DiskOptions{}), cmpopts.EquateEmpty()); err != nil || d != "" {
			t.Errorf("%v (-want +got):\n%s", err, d)
		}
	})
}
