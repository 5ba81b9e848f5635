// SPDX-License-Identifier: Apache-2.0

package bootlog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// put writes files below a root folder.
func put(t *testing.T, root string, files map[string]string) {
	t.Helper()

	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	panicNew = "Panic#2 Part1\n<0>[   12.4] Kernel panic - not syncing: sysrq triggered crash\n<4>[   12.5] Call Trace:\n"
	panicOld = "Panic#2 Part2\n<6>[   12.2] sysrq: Trigger a crash\n"
)

func TestEvidence(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string
		lines string
	}{
		{"nothing", nil, Unexplained, ""},
		{"a panic", map[string]string{
			"sys/fs/pstore/dmesg-efi_pstore-16": panicOld, "sys/fs/pstore/dmesg-efi_pstore-17": panicNew,
		}, "kernel panic: sysrq triggered crash", "[   12.2] sysrq: Trigger a crash|[   12.4] Kernel panic - not syncing: sysrq triggered crash|[   12.5] Call Trace:"},
		{"an oops", map[string]string{
			"sys/fs/pstore/dmesg-ramoops-0": "Oops#1 Part1\n<1>[ 1.0] BUG: kernel NULL pointer dereference\n",
		}, "kernel panic: BUG: kernel NULL pointer dereference", "[ 1.0] BUG: kernel NULL pointer dereference"},
		{"a start that failed", map[string]string{
			"sys/fs/pstore/dmesg-efi_pstore-3": "Shutdown#1 Part1\n<3>[ 2.0] [talos] the system does not start: initramfs: no root\n<6>[ 12.0] reboot: Restarting system\n",
		}, "the system did not start: initramfs: no root", "[ 2.0] [talos] the system does not start: initramfs: no root|[ 12.0] reboot: Restarting system"},
		{"rubbish", map[string]string{"sys/fs/pstore/dmesg-x": "\xff\xfe\n"}, "kernel panic: its last message was ?", "?"},
		{"no dump", map[string]string{"sys/fs/pstore/console-ramoops-0": "hello\n"}, Unexplained, ""},
		{"a watchdog", map[string]string{"sys/class/watchdog/watchdog0/bootstatus": "32\n"}, Watchdog, ""},
		{"a watchdog that did nothing", map[string]string{"sys/class/watchdog/watchdog0/bootstatus": "0\n"}, Unexplained, ""},
		{"a watchdog that says nothing", map[string]string{"sys/class/watchdog/watchdog0/bootstatus": "x"}, Unexplained, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			put(t, root, tt.files)

			e := Gather(root)
			if got := e.Reason(); got != tt.want {
				t.Errorf("reason: got %q, want %q", got, tt.want)
			}

			if got := strings.Join(e.Lines, "|"); got != tt.lines {
				t.Errorf("lines: got %q, want %q", got, tt.lines)
			}
		})
	}
}

// TestPanicIsKept: the end of the kernel's log is added to the boot it is from, and the evidence is removed.
func TestPanicIsKept(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	put(t, root, map[string]string{"sys/fs/pstore/dmesg-efi_pstore-1": panicNew})

	gather := func() Evidence { return Gather(root) }

	first := start(t, dir, "one", DefaultLimits, none)
	first.Append("machined", []byte("working"))
	flush(t, first)

	second := start(t, dir, "two", DefaultLimits, gather)

	if got := read(t, second, -1, PStore, 1); got != "[   12.5] Call Trace:\n" {
		t.Errorf("the end of the kernel's log: got %q", got)
	}

	third := start(t, dir, "three", DefaultLimits, gather)

	boots, err := third.Boots()
	if err != nil {
		t.Fatal(err)
	}

	if boots[1].Reason != Unexplained || boots[2].Reason != "kernel panic: sysrq triggered crash" {
		t.Errorf("got %+v", boots)
	}

	if left, err := os.ReadDir(filepath.Join(root, "sys/fs/pstore")); err != nil || len(left) != 0 {
		t.Errorf("what is left: %v, %v", left, err)
	}
}

func FuzzDump(f *testing.F) {
	f.Add([]byte(panicNew))
	f.Add([]byte("<"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if lines := join([]part{newPart("dmesg-x", text), newPart("dmesg-y", text)}); len(lines) > 0 && panicIn(lines) == "" {
			t.Errorf("no reason in %q", lines)
		}
	})
}

func TestReadable(t *testing.T) {
	root := t.TempDir()

	for _, tt := range []struct {
		text string
		want bool
	}{{"(null)\n", false}, {"\n", false}, {"efi_pstore\n", true}} {
		put(t, root, map[string]string{"sys/module/pstore/parameters/backend": tt.text})

		if got := Readable(root); got != tt.want {
			t.Errorf("%q: got %t, want %t", tt.text, got, tt.want)
		}
	}

	if Readable(t.TempDir()) {
		t.Error("readable without a kernel")
	}
}
