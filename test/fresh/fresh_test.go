// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/lab/world"
)

func TestDebianSources(t *testing.T) {
	const text = `Debian http://mirror.example/debian/ bookworm main
Debian http://mirror.example/debian/ bookworm-updates main
Debian http://mirror.example/debian/ bookworm main
Debian http://mirror.example/debian/ trixie main
Other https://apt.example/ bookworm main
rubbish
`

	want := []source{
		{"http://mirror.example/debian/", "bookworm", "main"},
		{"http://mirror.example/debian/", "bookworm-updates", "main"},
	}

	if d := cmp.Diff(want, debianSources(text), cmp.AllowUnexported(source{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestAcquireSettings(t *testing.T) {
	const dump = `APT::Architecture "amd64";
Acquire::http "";
Acquire::http::Proxy "http://proxy.example:3128";
Acquire::http::Proxy-Auto-Detect "/usr/bin/auto-apt-proxy";
Acquire::https::CAInfo "/etc/ssl/certs/ca-certificates.crt";
Acquire::Languages "none";
`

	want := "Acquire::http::Proxy \"http://proxy.example:3128\";\nAcquire::https::CAInfo \"/etc/ssl/certs/ca-certificates.crt\";\n"
	if got := string(acquireSettings(dump)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("https_proxy", "http://proxy.example:3128")
	t.Setenv("GOPROXY", "https://modules.example")
	t.Setenv("GOTMPDIR", t.TempDir())
	t.Setenv("MAKEFLAGS", "-n")

	env, err := environment(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	got := strings.Join(env, "\n") + "\n"
	for _, want := range []string{"HOME=/root\n", "https_proxy=http://proxy.example:3128\n", "GOPROXY=https://modules.example\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("got no %q in\n%s", want, got)
		}
	}

	for _, not := range []string{"GOTMPDIR", "MAKEFLAGS"} {
		if strings.Contains(got, not) {
			t.Errorf("got %s, which is the host's own, in\n%s", not, got)
		}
	}
}

// TestLinkCache checks that built files are linked, but not the base and loose files.
func TestLinkCache(t *testing.T) {
	dir := t.TempDir()
	m := &machine{Cache: filepath.Join(dir, "cache"), Built: filepath.Join(dir, "built")}

	for _, name := range []string{"steps/etcd/abc/etcd", "debian/a.deb", cachedBase + "/bookworm/etc/passwd"} {
		path := filepath.Join(m.Cache, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	if err := m.linkCache(); err != nil {
		t.Fatal(err)
	}

	var got []string

	err := filepath.WalkDir(m.Built, func(path string, d os.DirEntry, err error) error {
		if !d.IsDir() {
			got = append(got, strings.TrimPrefix(path, m.Built+"/"))
		}

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	if d := cmp.Diff([]string{"cache/debian/a.deb", "cache/steps/etcd/abc/etcd"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestLock checks that a second run does not remove the folder of the first.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache", "fresh")

	unlock, err := lock(path)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := lock(path); err == nil || !strings.Contains(err.Error(), "another run") {
		t.Errorf("the second: got %v, want an error about another run", err)
	}

	unlock()

	if unlock, err = lock(path); err != nil {
		t.Errorf("after the first: got %v", err)
	} else {
		unlock()
	}
}

// TestRemove checks that the cgroups of a killed machine, which its lab names, are removed. A cgroup here is a folder.
func TestRemove(t *testing.T) {
	place, cgroup := filepath.Join(t.TempDir(), "fresh"), filepath.Join(t.TempDir(), "talos-lab-fresh")
	m := machine{Place: place}

	for _, dir := range []string{filepath.Join(cgroup, "controlplane-1", "kubepods"), m.upper("/")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	lab := &state.Lab{
		Dir: filepath.Join(m.upper(sourcePlace+"/out"), "lab", "fresh"), Name: "fresh", Cgroups: []string{cgroup},
		World: world.World{Networks: []world.Network{{Name: "lab", Subnet4: netip.MustParsePrefix("10.5.0.0/24")}}},
		Nodes: []state.Node{{
			Name: "fresh-controlplane-1", Addr: netip.MustParseAddr("10.5.0.2"),
			Cards: []world.Card{{Network: "lab", MAC: "52:54:0a:05:00:02", Addr4: netip.MustParseAddr("10.5.0.2")}},
		}},
	}
	if err := os.MkdirAll(lab.Dir, 0o755); err != nil {
		t.Fatal(err)
	}

	if err := lab.Save(); err != nil {
		t.Fatal(err)
	}

	for range 2 { // the second time nothing is left
		if err := remove(place); err != nil {
			t.Fatal(err)
		}
	}

	for _, dir := range []string{cgroup, place} {
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", dir, err)
		}
	}
}

// TestChoices checks that a wrong choice is refused before anything is created.
func TestChoices(t *testing.T) {
	for _, tt := range []struct{ until, in, want string }{
		{"soon", inMachines, "-until soon: it is neither ready nor machines-on"},
		{untilReady, "container", "-in container: it is neither machines nor containers"},
	} {
		if err := run(t.Context(), tt.until, tt.in); err == nil || err.Error() != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}
