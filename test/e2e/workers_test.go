// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/test/cluster"
)

// TestWorkers tests a cluster of containers with configurations as clients at 1.13 generate them; TestDocuments has those of 1.14,
// the other tests those of 1.12.
func TestWorkers(t *testing.T) {
	cluster.Above(t, cluster.Landing, "takes five minutes, most of which are faults of the network")
	workers(t, "e2e-workers", 10*time.Minute, "cluster", "create", "container", "--talos-version", "v1.13")
}

// TestVirtualWorkers tests a cluster of virtual machines.
func TestVirtualWorkers(t *testing.T) {
	cluster.Above(t, cluster.All, "starts three virtual machines, which takes long where they are emulated")

	workers(t, "e2e-virtual-workers", 38*time.Minute, "cluster", "create", "qemu")
}

// workers creates a cluster of a control plane and two workers as users do. It checks that one endpoint reaches all three,
// that a worker forwards no calls, that the cluster survives a bad network, and that of a dead node only its own answer is
// missing. In the end the workers become control planes.
func workers(t *testing.T, name string, patience time.Duration, create ...string) {
	l := cluster.NewUserLab(t, name)

	// It waits until all nodes are Ready and the API of both workers answers.
	l.Create(patience, append(create, "--workers", "2")...)

	machines := l.Open()

	var addresses []string
	for _, n := range machines.Nodes() {
		addresses = append(addresses, n.Addr.String())
	}

	all := l.As("-n", strings.Join(addresses, ","), "memory")
	worker, last := machines.Node(1), machines.Node(2)

	t.Run("one endpoint reaches all", func(t *testing.T) {
		stdout, _, err := l.Talosctl(time.Minute, all...)
		if err := answered(stdout, err, addresses...); err != nil {
			t.Error(err)
		}
	})

	t.Run("every node reports that it is healthy", func(t *testing.T) {
		t.Setenv("KUBECONFIG", machines.State().KubeconfigPath()) // the way to Kubernetes

		_, stderr, err := l.Talosctl(11*time.Minute, l.As("-n", addresses[0], "health", "--server=false", "--wait-timeout", "10m")...)
		if err != nil || !strings.Contains(stderr, "waiting for kubelet to be healthy: OK\n") {
			t.Error(err)
		}
	})

	t.Run("logs of all nodes are read", func(t *testing.T) { kubeletLogs(t, l, addresses) })

	t.Run("a worker answers its own calls", func(t *testing.T) {
		args := l.As("-e", worker.APIEndpoint(), "-n", worker.Addr.String(), "memory")

		stdout, _, err := l.Talosctl(time.Minute, args...)
		if err := answered(stdout, err, worker.Addr.String()); err != nil {
			t.Error(err)
		}
	})

	t.Run("a worker does not forward", func(t *testing.T) {
		args := l.As("-e", worker.APIEndpoint(), "-n", last.Addr.String(), "memory")

		if _, stderr, err := l.Talosctl(time.Minute, args...); err == nil || !strings.Contains(stderr, "is a worker and does not forward") {
			t.Errorf("got %v, %s, want it refused with the reason", err, stderr)
		}
	})

	t.Run("a bad network", func(t *testing.T) {
		cluster.NeedsTime(t, 8*time.Minute)
		badNetwork(t, l)
	})

	t.Run("a worker comes back with a certificate", func(t *testing.T) {
		if _, _, err := l.Talosctl(time.Minute, "cluster", "reboot", worker.Name); err != nil {
			t.Fatal(err)
		}

		var (
			stdout string
			err    error
		)

		for deadline := time.Now().Add(10 * time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Second) {
			stdout, _, err = l.Talosctl(time.Minute, l.As("-n", worker.Addr.String(), "memory")...)
			if err = answered(stdout, err, worker.Addr.String()); err == nil {
				return
			}
		}

		t.Error(err)
	})

	t.Run("of a dead node only its own answer is missing", func(t *testing.T) {
		if _, _, err := l.Talosctl(time.Minute, "cluster", "power", "cut", last.Name); err != nil {
			t.Fatal(err)
		}

		stdout, stderr, err := l.Talosctl(2*time.Minute, all...)
		if err == nil || !strings.Contains(stderr, last.Addr.String()) {
			t.Errorf("got %v, %s, want the dead node named, and a failure", err, stderr)
		}

		if err := answered(stdout, nil, addresses[:2]...); err != nil {
			t.Error(err)
		}
	})

	if last.As() == state.Container {
		t.Run("workers become control planes", func(t *testing.T) { planesPage(t, l) })
	}
}

// answered checks that a table has a line of each node.
func answered(table string, err error, nodes ...string) error {
	if err != nil {
		return err
	}

	for _, node := range nodes {
		found := false
		for line := range strings.Lines(table) {
			found = found || strings.HasPrefix(line, node+" ")
		}

		if !found {
			return fmt.Errorf("node %s has no line in\n%s", node, table)
		}
	}

	return nil
}
