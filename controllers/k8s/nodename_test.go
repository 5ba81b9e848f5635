// SPDX-License-Identifier: Apache-2.0

//go:build linux

package k8s_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/cosi/typed"
	k8sres "github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
)

// TestNodeKeepsItsName checks that a registered Node keeps its name, also after a reboot, whatever DHCP sends, until a person chooses another.
func TestNodeKeepsItsName(t *testing.T) {
	opts := generate.Options{Secrets: generateSecrets(t)}
	root := controllertest.Root(t)

	boot := func(t *testing.T, name string) *cluster {
		c := &cluster{supervisor: &controllertest.Supervisor{}, root: root, opts: opts}
		c.start(t, nil)
		c.Hostname(name)

		return c
	}

	named := func(c *cluster, name string, kept bool) {
		controllertest.Wait(c.Node, k8sres.NodenameID, func(s k8sres.NodenameSpec) bool { return s.Nodename == name && (s.Kept != "") == kept })
		controllertest.Wait(c.Node, k8sres.KubeletID, func(s k8sres.KubeletSpecSpec) bool {
			return s.ExpectedNodename == name && slices.Contains(s.Args, "--hostname-override="+name)
		})
	}

	t.Run("first boot", func(t *testing.T) {
		c := boot(t, "talos-abc-def")
		c.mount()
		named(c, "talos-abc-def", false)

		// DHCP names the host before its Node is registered.
		c.Hostname("rack-4")
		named(c, "rack-4", false)
		waitService(t, c, "kubelet", "")
		controllertest.Set(c.Node, "rack-4", k8sres.NodeStatusSpec{Nodename: "rack-4", NodeReady: true})

		// Then DHCP sends another name, and then none.
		for _, name := range []string{"rack-5", "talos-abc-def"} {
			before := controllertest.Version[k8sres.KubeletSpecSpec](c.Node, k8sres.KubeletID)

			c.Hostname(name)
			kept := controllertest.Wait(c.Node, k8sres.NodenameID, func(s k8sres.NodenameSpec) bool { return strings.Contains(s.Kept, name) })
			t.Logf("hostname %s: the Node is called %s: %s", name, kept.Nodename, kept.Kept)
			named(c, "rack-4", true)

			if got := controllertest.Version[k8sres.KubeletSpecSpec](c.Node, k8sres.KubeletID); got != before {
				t.Errorf("the kubelet is changed by hostname %s: got version %d, want %d", name, got, before)
			}
		}
	})

	identity(t, root)

	t.Run("second boot", func(t *testing.T) {
		c := boot(t, "talos-abc-def")

		// The Node's name is not known before EPHEMERAL is mounted.
		time.Sleep(100 * time.Millisecond)

		if got, err := typed.Find[k8sres.NodenameSpec](t.Context(), c, "", k8sres.NodenameID); got != nil || err != nil {
			t.Errorf("before EPHEMERAL is mounted: got %v, %v, want no name", got, err)
		}

		c.mount()
		named(c, "rack-4", true)

		c.Hostname("rack-4")
		named(c, "rack-4", false)

		// A person chooses, and the choice of an earlier configuration does not count.
		controllertest.Set(c.Node, network.HostnameID, network.HostnameSpecSpec{Hostname: "alone", Layer: network.LayerConfiguration})
		c.Hostname("alone")
		time.Sleep(100 * time.Millisecond)
		named(c, "rack-4", false)
		c.Configure(c.text(t, "machine: {network: {hostname: db-1}}"))
		time.Sleep(100 * time.Millisecond)
		named(c, "rack-4", false)
		controllertest.Set(c.Node, network.HostnameID, network.HostnameSpecSpec{Hostname: "db-1", Layer: network.LayerConfiguration})
		c.Hostname("db-1")
		named(c, "db-1", false)
		controllertest.Set(c.Node, "db-1", k8sres.NodeStatusSpec{Nodename: "db-1", NodeReady: true})

		// Until another choice takes effect, the Node keeps its name.
		c.Configure(c.text(t, "machine: {network: {hostname: db-2}}"))
		controllertest.Set(c.Node, network.HostnameID, network.HostnameSpecSpec{Hostname: "db-2", Layer: network.LayerConfiguration})
		time.Sleep(100 * time.Millisecond)
		named(c, "db-1", false)
	})

	identity(t, root)

	t.Run("third boot, with the choice reverted", func(t *testing.T) {
		c := boot(t, "rack-4")
		c.mount()
		named(c, "db-1", true)
	})

	t.Run("a new disk", func(t *testing.T) {
		root = controllertest.Root(t)

		c := boot(t, "rack-4")
		c.mount()
		named(c, "rack-4", false)
	})
}

// identity replaces the link to the kubelet's newest certificate by the certificate, since the link's path is that of a machine.
func identity(t *testing.T, root string) {
	t.Helper()

	link := filepath.Join(root, "var/lib/kubelet/pki/kubelet-client-current.pem")

	target, err := os.Readlink(link)
	if err != nil {
		t.Fatal(err)
	}

	if err := errors.Join(os.Remove(link), os.Rename(filepath.Join(root, target), link)); err != nil {
		t.Fatal(err)
	}
}
