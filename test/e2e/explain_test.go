// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/lab/netswitch"
	"github.com/seed-59268b81/talos/test/cluster"
)

const (
	// Unused addresses in the machine's network.
	noTimeServer, noControlPlane, noMember = "10.5.0.97", "10.5.0.98", "10.5.0.99"
	// absentImage is in no cache and in no registry.
	absentImage = "ghcr.io/seed-59268b81/kubelet:v0.0.0-none"
)

// TestExplain breaks a machine in four ways, and checks that talosctl explain names each cause first, both for the
// machine and for the broken part.
func TestExplain(t *testing.T) {
	cluster.Above(t, cluster.Landing, "waits for a machine to notice what is broken")

	c := cluster.StartContainer(t)
	s := newSession(t, c)
	name := wellAtFirst(t, c, s)

	c.Run("a missing route", func(t *testing.T) {
		// A static address without a gateway. The name, which came from DHCP, stays.
		c.Apply(patched(t, c, "machine: {network: {interfaces: [{interface: eth0, dhcp: false, addresses: ["+s.node()+"/24]}]}}\n"+named(name)))
		explains(t, s, `there is no default route\n`, "networkstatus")
		mended(t, s)
	})

	c.Run("a bad image", func(t *testing.T) {
		c.Apply(patched(t, c, "machine: {kubelet: {image: '"+absentImage+"'}}"))
		explains(t, s, `the image of service kubelet cannot be pulled: `+absentImage+`\n`, "service kubelet")
		mended(t, s)
	})

	c.Run("a wrong endpoint", func(t *testing.T) {
		// The control plane finds its own API server; clients of the endpoint do not.
		c.Apply(patched(t, c, "cluster: {controlPlane: {endpoint: 'https://"+noControlPlane+":6443'}}"))
		explains(t, s, `the cluster's endpoint https://`+noControlPlane+`:6443 does not answer: `, "machinestatus")
		mended(t, s)
	})

	c.Run("etcd without quorum", func(t *testing.T) {
		// This is the machine's last test: without a quorum, a member cannot be removed.
		c.AddEtcdMember(noMember, false)
		explains(t, s, `etcd has no quorum: of its 2 members it needs 2, and 1 does not answer\n`, "service etcd")
	})
}

// TestExplainClock needs a machine with a clock of its own.
func TestExplainClock(t *testing.T) {
	cluster.Above(t, cluster.All, "starts one more virtual machine, which takes long where it is emulated")

	c := cluster.Start(t)
	s := newSession(t, c)
	name := wellAtFirst(t, c, s)

	c.Run("the time not synced", func(t *testing.T) {
		// A clock that was set stays right without its server until the next boot. The time server from DHCP is queried
		// before the configuration is found, so NTP is silent until then.
		s.write(t, "wrong.yaml", patched(t, c, "machine: {time: {servers: ["+noTimeServer+"]}, network: {interfaces: [{interface: eth0, dhcp: false, "+
			"addresses: ["+s.node()+"/24], routes: [{network: 0.0.0.0/0, gateway: "+c.Lab.State().World.Networks[0].Gateway4.String()+"}]}]}}\n"+named(name)))
		s.talosctl(t, "apply-config --mode staged --for-good --file wrong.yaml")

		const found = "the configuration was found"

		before := strings.Count(c.Console(), found)

		s.talosctl(t, "reboot --wait=false")

		if err := c.Node.SetLink(t.Context(), netswitch.Link{In: netswitch.Impairment{Cut: true}}); err != nil {
			t.Fatal(err)
		}

		s.Until("the machine has its configuration", 2*time.Minute, func(context.Context) error {
			if strings.Count(c.Console(), found) == before {
				return errors.New("its console does not say so")
			}

			return nil
		})

		if err := c.Lab.Heal(t.Context()); err != nil {
			t.Fatal(err)
		}

		explains(t, s, `the time is not synced: no answer from `+noTimeServer+`\n`, "timestatus")
		mended(t, s)
	})
}

// wellAtFirst waits until a machine is Ready, and returns the name of its node.
func wellAtFirst(t *testing.T, c *cluster.Cluster, s *session) (name string) {
	c.Run("a healthy machine", func(t *testing.T) {
		c.Maintenance()
		takesConfiguration(t, c)
		c.Bootstrap()
		c.Kubeconfig()
		c.Ready("")
		well(t, s)

		nodes, err := c.Nodes(t.Context())
		if err != nil || len(nodes) != 1 {
			c.Fail("the nodes of Kubernetes: got %v, %v, want one", nodes, err)
		}

		name = nodes[0].Metadata.Name
	})

	return name
}

// named returns a patch that keeps the name from DHCP.
func named(name string) string {
	return "---\napiVersion: v1alpha1\nkind: HostnameConfig\nauto: \"off\"\nhostname: " + name + "\n"
}

// explains waits until the cause is named first.
func explains(t *testing.T, s *session, cause, subject string) {
	t.Helper()

	want := s.pattern(`\A@: .*\n\nroot cause: ` + cause)

	for _, line := range []string{"explain", "explain " + subject} {
		var said []byte

		s.Until("talosctl "+line+" names the cause", 10*time.Minute, func(ctx context.Context) (err error) {
			if said, err = s.command(ctx, line).CombinedOutput(); err != nil {
				return fmt.Errorf("%w: %s", err, said)
			}

			if !want.Match(said) {
				return fmt.Errorf("it says\n%s\nwant a match of %s", said, want)
			}

			return nil
		})
		t.Logf("talosctl %s\n%s", line, said)
	}
}

// mended applies the machine's first configuration again.
func mended(t *testing.T, s *session) {
	t.Helper()
	s.Apply(s.Generated.ControlPlane)
	well(t, s)
}

func well(t *testing.T, s *session) {
	t.Helper()

	s.Until("talosctl explain names no cause", 10*time.Minute, func(ctx context.Context) error {
		said, err := s.command(ctx, "explain").CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, said)
		}

		if !s.pattern(`\A@: nothing is wrong with the machine\n`).Match(said) {
			return fmt.Errorf("it says\n%s", said)
		}

		return nil
	})
}
