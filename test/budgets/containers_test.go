// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/test/cluster"
	"github.com/seed-59268b81/talos/test/yardstick"
)

// Times of clusters of containers, on two cores, from the start of talosctl.
const (
	oneContainerLimit   = 30 * time.Second
	fiveContainersLimit = 120 * time.Second
	destroyFiveLimit    = 3 * time.Second
	// containersTime is how long the test waits beyond the limit, to report by how much it is exceeded.
	containersTime = 10 * time.Minute
)

// TestContainers measures a control plane in a container: how long talosctl cluster create takes until all pods run, and
// what the system costs when it is idle.
func TestContainers(t *testing.T) {
	if os.Getenv(Measure) == "" {
		t.Skip("measures boot times, which needs minutes and the whole computer: run make budgets")
	}

	l := cluster.NewUserLab(t, "budget-one")
	took := createContainers(t, l, 1)

	report("\nclusters of containers\n")
	within(t, "one control plane, until it is Ready and all its pods run", took, slower(t, oneContainerLimit))

	first := l.Open().Node(0).Process
	if first == nil {
		t.Fatal("the lab does not know the machine's first process")
	}

	idle(t, first.PID)
}

// TestFiveContainers measures how long it takes to create and to destroy a control plane and four workers.
func TestFiveContainers(t *testing.T) {
	if os.Getenv(Measure) == "" {
		t.Skip("measures boot times, which needs minutes and the whole computer: run make budgets")
	}

	l := cluster.NewUserLab(t, "budget-five")
	took := createContainers(t, l, 5)
	gone := l.Destroy()

	report("\nfive containers\n")
	within(t, "a control plane and four workers, until all are Ready and all pods run", took, slower(t, fiveContainersLimit))
	within(t, "destroy five machines", gone, destroyFiveLimit)
}

// slower returns the limit for this computer: a slower one than that of docs/measurements.md has longer for what only its processors do.
func slower(t *testing.T, limit time.Duration) time.Duration {
	t.Helper()

	factor := yardstick.Slowness(t)
	if factor > 1 {
		report("(%.2f times as slow a computer as the one that the limits are for)", factor)
	}

	return time.Duration(float64(limit) * factor).Round(time.Millisecond)
}

// within reports a time, and fails the test when it is over its limit.
func within(t *testing.T, what string, took, limit time.Duration) {
	t.Helper()
	report("%6.1f s   of %3.0f s    %s", took.Seconds(), limit.Seconds(), what)

	if took > limit {
		t.Errorf("%s: got %.1fs, want at most %s", what, took.Seconds(), limit)
	}
}

// createContainers creates a control plane and workers, and returns how long it took until all pods ran.
func createContainers(t *testing.T, l *cluster.UserLab, nodes int) time.Duration {
	t.Helper()

	start := time.Now()

	// The command waits until the nodes are Ready and the cluster is healthy.
	l.Create(containersTime, "cluster", "create", "--provisioner", "container", "--workers", fmt.Sprint(nodes-1))

	kubeconfig := l.Open().State().KubeconfigPath()

	for {
		err := allRun(t, l.Kubectl, kubeconfig, nodes)
		if err == nil {
			return time.Since(start)
		}

		if time.Since(start) > containersTime {
			t.Fatalf("waited %s until all pods run: %v", containersTime, err)
		}

		time.Sleep(200 * time.Millisecond)
	}
}

// allRun returns an error until two pods of CoreDNS, the control plane's three, and flannel and kube-proxy on each node
// are running and ready.
func allRun(t *testing.T, kubectl, kubeconfig string, nodes int) error {
	t.Helper()

	//program:built kubectl
	out, err := exec.CommandContext(t.Context(), kubectl, "--kubeconfig", kubeconfig, "get", "--raw", "/api/v1/pods", "--request-timeout=10s").Output()
	if err != nil {
		return fmt.Errorf("list the pods: %w", err)
	}

	var pods struct{ Items []cluster.Pod }
	if err := json.Unmarshal(out, &pods); err != nil {
		return fmt.Errorf("list the pods: %w", err)
	}

	var errs []error

	if got, want := len(pods.Items), 5+2*nodes; got < want {
		errs = append(errs, fmt.Errorf("there are %d pods, want %d", got, want))
	}

	for _, p := range pods.Items {
		if p.Status.Phase != "Running" {
			errs = append(errs, fmt.Errorf("pod %s is %s", p.Metadata.Name, p.Status.Phase))
		} else if err := p.Ready(); err != nil {
			errs = append(errs, err)
		}
	}

	return errors.Join(errs...)
}
