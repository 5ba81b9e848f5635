// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/test/cluster"
)

// TestMixed runs a virtual machine and a container in one network until both are in maintenance. After that the API is
// the same for both.
func TestMixed(t *testing.T) {
	l := cluster.NewUserLab(t, "e2e-mixed")

	l.Create(5*time.Minute, "cluster", "create", "qemu", "--provisioner-workers", "container", "--workers", "1", "--skip-injecting-config")

	stdout, _, err := l.Talosctl(time.Minute, "cluster", "show")
	if want := regexp.MustCompile(`(?m)^e2e-mixed-controlplane-1 +controlplane +qemu +.* on +1 +[\s\S]*^e2e-mixed-worker-1 +worker +container +.* on +1 +`); err != nil || !want.MatchString(stdout) {
		t.Errorf("cluster show: got %v, %s, want a match of %s", err, stdout, want)
	}

	for _, n := range l.Open().Nodes() {
		stdout, _, err := l.Talosctl(time.Minute, "version", "--insecure", "--endpoints", n.APIEndpoint())
		if want := regexp.MustCompile(`(?m)^Server:\n\s+NODE: +` + regexp.QuoteMeta(n.APIEndpoint())); err != nil || !want.MatchString(stdout) {
			t.Errorf("version of %s: got %v, %s, want a match of %s", n.Name, err, stdout, want)
		}
	}

	l.Destroy()

	if _, err := os.Stat(l.Dir); !os.IsNotExist(err) {
		t.Errorf("after cluster destroy: got %v, want %s removed", err, l.Dir)
	}
}
