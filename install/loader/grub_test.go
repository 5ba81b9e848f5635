// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"errors"
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/install"
)

func TestGRUBConfig(t *testing.T) {
	const want = `set superusers=
load_env
set once=
if [ -n "${next_entry}" ]; then
  set next="${next_entry}"
  set next_entry=
  if save_env next_entry; then
    set once="${next}"
  fi
fi
for slot in "${once}" "${saved_entry}" A B C; do
  set loaded=
  if [ -f "/${slot}/boot.cfg" ]; then
    source "/${slot}/boot.cfg"
  fi
  if [ -n "${loaded}" ]; then
    boot
  fi
  if [ -n "${once}" ]; then
    reboot
  fi
done
`
	if d := cmp.Diff(want, grubConfig()); d != "" {
		t.Errorf("grub.cfg (-want +got):\n%s", d)
	}

	s := System{Version: "v1.2", Kernel: install.Bytes([]byte("k")), Initramfs: install.Bytes([]byte("i")), Cmdline: `console=ttyS0 a="$b" it's`}

	got, err := bootConfig("B", s, append(strings.Fields(s.Cmdline), "console=ttyS0", "x'"))
	if d := cmp.Diff(`# version v1.2
# arguments console=ttyS0 a="$b" it's
linux /B/vmlinuz 'console=ttyS0' 'a="$b"' 'it'\''s' 'console=ttyS0' 'x'\''' 'talos.boot.entry=B'
if initrd /B/initramfs.img; then set loaded=yes; fi
`, got); d != "" || err != nil {
		t.Errorf("boot.cfg (-want +got):\n%s%v", d, err)
	}

	if d := cmp.Diff([]string{"console=ttyS0", "x'"}, extraOf(got)); d != "" {
		t.Errorf("further arguments (-want +got):\n%s", d)
	}

	if _, err := bootConfig("A", System{Cmdline: "a\nreboot"}, []string{"a"}); err == nil {
		t.Error("a command line of two lines was accepted")
	}

	// Other arguments than the system's own.
	files, err := BootFilesWith(s, []string{"debug"})
	if err != nil || len(files) != 5 {
		t.Fatalf("got %d files, %v", len(files), err)
	}

	if text, err := textOf(files[4]); err != nil || !strings.Contains(text, "linux /A/vmlinuz 'debug' 'talos.boot.entry=A'\n") {
		t.Errorf("boot.cfg: got %q, %v", text, err)
	}

	if _, err := BootFiles(System{Cmdline: "a"}); !errors.Is(err, ErrNoKernel) {
		t.Errorf("got %v, want %v", err, ErrNoKernel)
	}
}

func textOf(f install.File) (string, error) {
	r, err := f.Open()
	if err != nil {
		return "", err
	}

	b, err := io.ReadAll(r)

	return string(b), err
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
