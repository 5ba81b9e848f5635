// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/test/cluster"
)

// TestWorkers walks through the life of a cluster of virtual machines.
func TestWorkers(t *testing.T) {
	if os.Getenv(cluster.Require) != cluster.All {
		t.Skip("starts three machines, which takes long where they are emulated: run make e2e")
	}

	workers(t, "e2e-workers", 38*time.Minute, "cluster", "create", "qemu")
}

// TestContainers walks through the life of a cluster of containers, who are fast wherever they run.
func TestContainers(t *testing.T) {
	if os.Getenv(cluster.Require) == "" || os.Geteuid() != 0 {
		t.Skip("needs a built system, and root: run make test")
	}

	workers(t, "e2e-containers", 8*time.Minute, "cluster", "create", "container")
}

// workers makes a cluster of a control plane and two workers the way its users do, and holds that one endpoint reaches
// all three, that a worker forwards nothing, and that a dead node costs its own answer alone.
func workers(t *testing.T, name string, patience time.Duration, create ...string) {
	out, err := cluster.Out()
	if err != nil {
		t.Fatal(err)
	}

	talosctl := filepath.Join(out, "bin", "talosctl")
	if _, err := os.Stat(talosctl); err != nil {
		t.Fatalf("needs a built system: %v: run make build", err)
	}

	state := filepath.Join(out, "e2e")
	run := func(patience time.Duration, args ...string) (string, string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()

		var stdout, stderr bytes.Buffer

		cmd := exec.CommandContext(ctx, talosctl, args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Dir(out), &stdout, &stderr

		err := cmd.Run()
		t.Logf("talosctl %s: %v\n%s%s", strings.Join(args, " "), err, &stdout, &stderr)

		return stdout.String(), stderr.String(), err
	}

	destroy := func() {
		if _, err := lab.Open(filepath.Join(state, name)); err != nil {
			return
		}

		if _, _, err := run(2*time.Minute, "cluster", "destroy", "--state", state, "--name", name); err != nil {
			t.Error(err)
		}
	}

	destroy() // the rest of a run that was killed
	t.Cleanup(destroy)

	// It waits until all nodes are Ready and the API of both workers answers.
	if _, _, err := run(patience+2*time.Minute, append(create, "--state", state, "--name", name, "--workers", "2", "--offline",
		"--wait-timeout", patience.String())...); err != nil {
		t.Fatal(err)
	}

	machines, err := lab.Open(filepath.Join(state, name))
	if err != nil {
		t.Fatal(err)
	}

	var addresses []string
	for _, n := range machines.Nodes() {
		addresses = append(addresses, n.Addr.String())
	}

	config := []string{"--talosconfig", machines.State().TalosconfigPath()}
	all := append(config, "-n", strings.Join(addresses, ","), "memory")
	worker, last := machines.Node(1), machines.Node(2)

	t.Run("one endpoint reaches all", func(t *testing.T) {
		stdout, _, err := run(time.Minute, all...)
		if err := answered(stdout, err, addresses...); err != nil {
			t.Error(err)
		}
	})

	t.Run("all are healthy, each by its own word", func(t *testing.T) {
		t.Setenv("KUBECONFIG", machines.State().KubeconfigPath()) // the way to Kubernetes

		_, stderr, err := run(11*time.Minute, append(config, "-n", addresses[0], "health", "--server=false", "--wait-timeout", "10m")...)
		if err != nil || !strings.Contains(stderr, "waiting for kubelet to be healthy: OK\n") {
			t.Error(err)
		}
	})

	t.Run("a worker answers for itself", func(t *testing.T) {
		args := append(config, "-e", worker.APIEndpoint(), "-n", worker.Addr.String(), "memory")

		stdout, _, err := run(time.Minute, args...)
		if err := answered(stdout, err, worker.Addr.String()); err != nil {
			t.Error(err)
		}
	})

	t.Run("a worker does not forward", func(t *testing.T) {
		args := append(config, "-e", worker.APIEndpoint(), "-n", last.Addr.String(), "memory")

		if _, stderr, err := run(time.Minute, args...); err == nil || !strings.Contains(stderr, "is a worker and does not forward") {
			t.Errorf("got %v, %s, want it refused with the reason", err, stderr)
		}
	})

	t.Run("a worker comes back with a certificate", func(t *testing.T) {
		if _, _, err := run(time.Minute, "cluster", "reboot", worker.Name, "--state", state, "--name", name); err != nil {
			t.Fatal(err)
		}

		var (
			stdout string
			err    error
		)

		for deadline := time.Now().Add(10 * time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Second) {
			stdout, _, err = run(time.Minute, append(config, "-n", worker.Addr.String(), "memory")...)
			if err = answered(stdout, err, worker.Addr.String()); err == nil {
				return
			}
		}

		t.Error(err)
	})

	t.Run("a dead node costs its own answer", func(t *testing.T) {
		if err := last.PowerCut(t.Context()); err != nil {
			t.Fatal(err)
		}

		stdout, stderr, err := run(2*time.Minute, all...)
		if err == nil || !strings.Contains(stderr, last.Addr.String()) {
			t.Errorf("got %v, %s, want the dead node named, and a failure", err, stderr)
		}

		if err := answered(stdout, nil, addresses[:2]...); err != nil {
			t.Error(err)
		}
	})
}

// answered looks for a line of each node in a table.
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
