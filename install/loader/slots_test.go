// SPDX-License-Identifier: Apache-2.0

package loader_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/sys/fat"
)

// TestNoFreeEntry adds entries to GRUB until there is no place. Arguments that a lab has added are passed on.
func TestNoFreeEntry(t *testing.T) {
	m := newMachine(t, false)
	if _, err := m.start(); err != nil {
		t.Fatal(err)
	}

	f, err := fat.Open(m.disk, size, time.Time{})
	if err != nil {
		t.Fatal(err)
	}

	text, err := f.ReadFile("/A/boot.cfg", 4096)
	if err != nil {
		t.Fatal(err)
	}

	changed := strings.Replace(string(text), "'console=tty0'", "'console=ttyS0' 'talos.platform=nocloud'", 1)
	if err := install.Put(t.Context(), f, install.File{Path: "/A/boot.cfg", Source: install.Bytes([]byte(changed))}); err != nil {
		t.Fatal(err)
	}

	for _, version := range []string{"v2", "v3"} {
		if _, err := m.loader().Add(t.Context(), system(version)); err != nil {
			t.Fatal(err)
		}
	}

	if f, err = fat.Open(m.disk, size, time.Time{}); err != nil {
		t.Fatal(err)
	}

	const want = `linux /C/vmlinuz 'console=tty0' 'x='\''a' 'b'\''' 'console=ttyS0' 'talos.platform=nocloud' 'talos.boot.entry=C'`
	if text, err = f.ReadFile("/C/boot.cfg", 4096); err != nil || !strings.Contains(string(text), want+"\n") {
		t.Errorf("got %s, %v; want %s", text, err, want)
	}

	if _, err := m.loader().Add(t.Context(), system("v2")); !errors.Is(err, fat.ErrNoSpace) {
		t.Errorf("got %v, want %v", err, fat.ErrNoSpace)
	}

	// For a system that cannot start, no place is made.
	none := system("v2")
	none.Kernel = install.Source{}

	if _, err := m.loader().Add(t.Context(), none); !errors.Is(err, loader.ErrNoKernel) {
		t.Errorf("got %v, want %v", err, loader.ErrNoKernel)
	}

	if removed, err := loader.Collect(m.loader()); err != nil || len(removed) != 2 {
		t.Errorf("removed %v, %v", removed, err)
	}

	if id, err := m.loader().Add(t.Context(), system("v2")); err != nil || id != "B" {
		t.Errorf("got %s, %v", id, err)
	}
}
