// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// host is the state of this computer that a lab must not change.
type host struct {
	Parameters map[string]string
	Mounts     []string
	Links      []string
	// Tables are the routes, and the tables of the firewall.
	Tables map[string]string
}

// lookAtHost reads it.
func lookAtHost(t *testing.T) host {
	t.Helper()

	h := host{Parameters: map[string]string{}}

	err := filepath.WalkDir("/proc/sys", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // of a namespace that has ended
		}

		info, err := d.Info()
		if err != nil || info.Mode()&0o200 == 0 || strings.HasSuffix(path, "/ns_last_pid") {
			return nil // only a writable file is a setting
		}

		if text, err := os.ReadFile(path); err == nil {
			h.Parameters[path] = string(text)
		}

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}

	h.Mounts = strings.Split(string(mounts), "\n")
	slices.Sort(h.Mounts)

	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}

	for _, l := range links {
		addrs, err := l.Addrs()
		if err != nil {
			t.Fatal(err)
		}

		text := l.Name + " " + l.HardwareAddr.String()
		for _, a := range addrs {
			text += " " + a.String()
		}

		h.Links = append(h.Links, text)
	}

	h.Tables = map[string]string{}

	for _, path := range []string{"/proc/net/route", "/proc/net/ip_tables_names", "/proc/net/ip6_tables_names"} {
		if text, err := os.ReadFile(path); err == nil {
			h.Tables[path] = string(text)
		}
	}

	return h
}
