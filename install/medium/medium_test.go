// SPDX-License-Identifier: Apache-2.0

package medium_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/install/medium"
	"github.com/seed-59268b81/talos/install/medium/mediumtest"
)

const version = "v1.2.3"

func TestOpen(t *testing.T) {
	esp := mediumtest.ESP(t, version, "quiet console=ttyS0")

	with := mediumtest.ESP(t, version, "quiet console=ttyS0", mediumtest.GRUB()...)

	for name, device := range map[string][]byte{"an EFI partition": esp, "a CD": cd(esp, 0xef), "a CD with GRUB": cd(with, 0xef)} {
		t.Run(name, func(t *testing.T) {
			m, err := medium.Open(bytes.NewReader(device), int64(len(device)), version)
			if err != nil {
				t.Fatal(err)
			}

			if m.ID != "Talos-v1.2.3.efi" || m.Cmdline != "quiet console=ttyS0" {
				t.Errorf("got %s, %q", m.ID, m.Cmdline)
			}

			want := map[*install.Source]string{
				&m.UKI: string(mediumtest.UKI("quiet console=ttyS0")), &m.Kernel: mediumtest.Kernel, &m.Initramfs: mediumtest.Initramfs,
			}

			if hasGRUB := m.GRUB != nil; hasGRUB != (name == "a CD with GRUB") {
				t.Errorf("GRUB: got %v", hasGRUB)
			} else if hasGRUB {
				want[&m.GRUB.Core] = contentOf(t, mediumtest.GRUB()[1].Source)
			}

			for source, text := range want {
				for range 2 { // what is installed is read twice
					if got := contentOf(t, *source); int64(len(got)) != source.Size || got != text {
						t.Errorf("got %q (%d bytes), want %q", got, source.Size, text)
					}
				}
			}
		})
	}
}

func contentOf(t *testing.T, s install.Source) string {
	t.Helper()

	r, err := s.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()

	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}

	return string(b)
}

func TestNoMedium(t *testing.T) {
	esp := mediumtest.ESP(t, version, "quiet")

	for name, device := range map[string][]byte{
		"another version":           mediumtest.ESP(t, "v1.2.4", "quiet"),
		"nothing":                   make([]byte, 1<<20),
		"too short":                 make([]byte, 512),
		"a CD for a BIOS":           cd(esp, 0),
		"a CD with another catalog": bytes.Replace(cd(esp, 0xef), []byte{0x55, 0xaa}, []byte{0x55, 0xab}, 1),
		"a CD that is cut":          cd(esp, 0xef)[:19*2048],
	} {
		if _, err := medium.Open(bytes.NewReader(device), int64(len(device)), version); !errors.Is(err, medium.ErrNone) {
			t.Errorf("%s: got %v, want %v", name, err, medium.ErrNone)
		}
	}
}

// cd returns a CD whose boot catalog has an entry for a BIOS, and one for another platform with the image.
func cd(image []byte, platform byte) []byte {
	const sector, catalog, at = 2048, 18, 20

	b := make([]byte, at*sector, at*sector+len(image))
	copy(b[17*sector:], "\x00CD001\x01"+"EL TORITO SPECIFICATION")
	binary.LittleEndian.PutUint32(b[17*sector+0x47:], catalog)

	c := b[catalog*sector:]
	c[0], c[30], c[31] = 1, 0x55, 0xaa // validates
	c[32] = 0x88                       // for a BIOS
	c[64], c[65], c[66] = 0x91, platform, 1
	c[96] = 0x88
	binary.LittleEndian.PutUint32(c[96+8:], at)

	return append(b, image...)
}

func FuzzOpen(f *testing.F) {
	f.Add(cd([]byte(strings.Repeat("image", 1000)), 0xef))
	f.Add(make([]byte, 40*1024))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := medium.Open(bytes.NewReader(b), int64(len(b)), version)
		if (m == nil) == (err == nil) {
			t.Errorf("got %v, %v", m, err)
		}
	})
}
