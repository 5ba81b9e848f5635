// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/test/cluster"
)

// TestLostCluster upgrades a worker whose only control plane loses its power while the worker restarts: its API serves with the certificate that it
// had before, and the version stays, since the version before would not bring the cluster back.
func TestLostCluster(t *testing.T) {
	cluster.Above(t, cluster.All, "starts a virtual machine, which takes long where it is emulated")

	l := cluster.NewUserLab(t, "e2e-lost")
	l.Create(15*time.Minute, "cluster", "create", "--provisioner", "container", "--provisioner-workers", "qemu", "--workers", "1")

	machines := l.Open()
	lost, worker := machines.Node(0), machines.Node(1)
	own := func(args ...string) []string {
		return l.As(append([]string{"-e", worker.APIEndpoint(), "-n", worker.Addr.String()}, args...)...)
	}
	shows := func(want string, args ...string) {
		t.Helper()

		until(t, upgradeTime, "the worker shows "+want, func() error {
			stdout, _, err := l.Talosctl(time.Minute, own(args...)...)
			if err == nil && !strings.Contains(stdout, want) {
				err = fmt.Errorf("it shows %s", stdout)
			}

			return err
		})
	}

	if _, _, err := l.Talosctl(upgradeTime, own("image", "import", "--namespace", "system", released(t).Installer())...); err != nil {
		t.Fatalf("%v (make next builds the archive)", err)
	}

	boots := bootsOf(t, worker)

	if _, _, err := l.Talosctl(upgradeTime, own("upgrade", "--image", generate.InstallerRepository+":"+nextVersion, "--drain=false", "--wait=false")...); err != nil {
		t.Fatal(err)
	}

	until(t, upgradeTime, "the worker restarts", func() error {
		if got := bootsOf(t, worker); got == boots {
			return fmt.Errorf("it has booted %d times", got)
		}

		return nil
	})

	if _, _, err := l.Talosctl(time.Minute, "cluster", "power", "cut", lost.Name); err != nil {
		t.Fatal(err)
	}

	shows("and the cluster is lost for its other nodes too", "get", "trials")
	shows("committed", "get", "trials")
	shows(nextVersion, "get", "version")
}

// bootsOf returns how often a machine has started.
func bootsOf(t *testing.T, n *lab.Node) int {
	t.Helper()

	s, err := n.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	return s.Machine.Boots
}
