// SPDX-License-Identifier: Apache-2.0

//go:build linux

package netns_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/sys/netns"
	"github.com/seed-59268b81/talos/sys/nstest"
)

func folder(t *testing.T, names ...string) string {
	t.Helper()

	dir := t.TempDir()

	for _, n := range names {
		if err := os.WriteFile(filepath.Join(dir, n), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	return dir
}

func TestNames(t *testing.T) {
	a, b := folder(t, "cni-2", "cni-1"), folder(t, "cni-1", "cni-3")

	got, err := netns.Names(a, "/none", b)
	if d := cmp.Diff([]string{"cni-1", "cni-2", "cni-3"}, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}

	if _, err := netns.Names(filepath.Join(a, "cni-1")); err == nil {
		t.Error("a file for a folder: got no error")
	}
}

func TestFind(t *testing.T) {
	a, b := folder(t, "cni-1"), folder(t, "cni-1", "cni-3")

	for _, tt := range []struct {
		name, want string
		err        error
	}{
		{"cni-1", a + "/cni-1", nil},
		{"cni-3", b + "/cni-3", nil},
		{"cni-4", "", fs.ErrNotExist},
		{"", "", fs.ErrInvalid},
		{"..", "", fs.ErrInvalid},
		{".", "", fs.ErrInvalid},
		{"../a", "", fs.ErrInvalid},
		{"/proc/1/ns/net", "", fs.ErrInvalid},
	} {
		got, err := netns.Find(tt.name, a, b)
		if got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%q: got %q, %v, want %q, %v", tt.name, got, err, tt.want, tt.err)
		}
	}
}

func TestDo(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	var path string

	other := nstest.NewNetwork(t)
	other.Do(func() { path = fmt.Sprintf("/proc/%d/task/%d/ns/net", os.Getpid(), unix.Gettid()) })

	var l net.Listener

	err := netns.Do(path, func() (err error) {
		l, err = net.Listen("tcp", ":7000")

		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	// The port is bound there, and not here.
	other.Do(func() {
		if second, err := net.Listen("tcp", ":7000"); err == nil {
			t.Errorf("the listener is not in the other network: %v", second.Addr())
		}
	})

	here, err := net.Listen("tcp", ":7000")
	if err != nil {
		t.Fatal(err)
	}

	here.Close()

	want := errors.New("an error")
	if err := netns.Do(path, func() error { return want }); !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}

	if err := netns.Do("/proc/self/comm", func() error { return nil }); !errors.Is(err, unix.EINVAL) {
		t.Errorf("no namespace: got %v", err)
	}

	var panicked *guard.Panic
	if err := netns.Do(path, func() error { panic("a panic") }); !errors.As(err, &panicked) || panicked.Value != "a panic" {
		t.Errorf("got %v, want the panic", err)
	}
}
