// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGRUBConfig(t *testing.T) {
	const want = `set timeout=0
set timeout_style=hidden
load_env
set default="${saved_entry}"
set fallback="${saved_entry}"
if [ -n "${next_entry}" ]; then
  set default="${next_entry}"
  set next_entry=
  save_env next_entry
fi
if [ -f /A/boot.cfg ]; then
  menuentry A --id A {
    source /A/boot.cfg
  }
fi
if [ -f /B/boot.cfg ]; then
  menuentry B --id B {
    source /B/boot.cfg
  }
fi
`
	if d := cmp.Diff(want, grubConfig()); d != "" {
		t.Errorf("grub.cfg (-want +got):\n%s", d)
	}

	got, err := bootConfig("B", System{Version: "v1.2", Cmdline: `console=ttyS0 a="$b" it's`})
	if d := cmp.Diff(`# version v1.2
linux /B/vmlinuz 'console=ttyS0' 'a="$b"' 'it'\''s' 'talos.boot.entry=B'
initrd /B/initramfs.img
`, got); d != "" || err != nil {
		t.Errorf("boot.cfg (-want +got):\n%s%v", d, err)
	}

	if _, err := bootConfig("A", System{Cmdline: "a\nreboot"}); err == nil {
		t.Error("a command line of two lines was accepted")
	}
}

func FuzzGRUBEnv(f *testing.F) {
	b, err := encodeGRUBEnv(map[string]string{savedEntry: "A", nextEntry: "", "odd": "a\\b\nc#=d"})
	if err != nil {
		f.Fatal(err)
	}

	f.Add(string(b))
	f.Add(grubEnvHeader + strings.Repeat("#", 999))
	f.Add(grubEnvHeader + "=x\n" + strings.Repeat("#", 996))

	f.Fuzz(func(t *testing.T, text string) {
		vars, err := parseGRUBEnv([]byte(text))
		if err != nil {
			return
		}

		b, err := encodeGRUBEnv(vars)
		if err != nil {
			return // without padding, and with more backslashes
		}

		again, err := parseGRUBEnv(b)
		if err != nil || !maps.Equal(vars, again) {
			t.Errorf("got %v, %v; want %v", again, err, vars)
		}
	})
}
