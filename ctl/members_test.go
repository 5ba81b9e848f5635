// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/client/clienttest"
)

// TestClusterFlag: with --cluster a command works on all members that the endpoint knows, by their names.
func TestClusterFlag(t *testing.T) {
	first, second := newNode("172.20.0.2"), newNode("172.20.0.3")
	s := clienttest.Start(t, map[string]*clienttest.Node{"": first, "one": first, "two": second})

	r := talosctl(t, s, "get", addressType, "--cluster")
	if r.exit != 0 || !strings.Contains(r.stdout, "\none ") || !strings.Contains(r.stdout, "\ntwo ") || !strings.Contains(r.stdout, "eth0/172.20.0.3/24") {
		t.Errorf("got %+v, want the addresses of both nodes", r)
	}

	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"version", "--cluster", "-n", "one"}, "do not name --nodes"},
		{[]string{"--cluster", "-n", "one", "version"}, "do not name --nodes"},
		{[]string{"--insecure", "--cluster", "-n", "one", "version"}, "do not use --cluster"},
		{[]string{"version", "--cluster", "-i", "-n", "one"}, "do not use --cluster"},
		{[]string{"bootstrap", "--cluster"}, "works on one node, and there are 2"},
	} {
		if r := talosctl(t, s, test.args...); r.exit == 0 || !strings.Contains(r.stderr, test.want) {
			t.Errorf("%s: got %+v, want %q", test.args, r, test.want)
		}
	}

	first.Resources = nil

	if r := talosctl(t, s, "version", "--cluster"); r.exit == 0 || !strings.Contains(r.stderr, "knows no members") {
		t.Errorf("no members: got %+v", r)
	}
}
