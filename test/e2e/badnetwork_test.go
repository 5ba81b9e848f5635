// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/netswitch"
	"github.com/seed-59268b81/talos/test/cluster"
)

const (
	// badTime is how long each fault lasts.
	badTime = time.Minute
	// healTime is how long nodes may take to be Ready when the network is good again. make e2e
	// checks that; make test, which runs on shared machines, checks lateTime.
	healTime = time.Minute
	lateTime = 5 * time.Minute
	replicas = 6
)

// spread is a Deployment with pods on all nodes.
var spread = fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: spread}
spec:
  replicas: %d
  selector: {matchLabels: {app: spread}}
  template:
    metadata: {labels: {app: spread}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: pause, image: '%s', args: [pause]}]
`, replicas, images.DefaultAgnhost)

// badNetwork makes the network of a cluster slow and lossy, then cuts the control plane off from the workers. It checks
// that all nodes are Ready soon after the network is good again, with the same pods.
func badNetwork(t *testing.T, l *cluster.UserLab) {
	machines := l.Open()
	nodes := machines.Nodes()

	if _, err := kubectl(t.Context(), l, spread, "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}

	var before []string

	until(t, 3*time.Minute, "the pods run", func() (err error) {
		before, err = runningPods(t.Context(), l)
		if err == nil && len(before) != replicas {
			err = fmt.Errorf("%d of %d run", len(before), replicas)
		}

		return err
	})

	t.Run("200 ms and 5 % of loss", func(t *testing.T) {
		for _, n := range nodes {
			bad := netswitch.Link{In: netswitch.Impairment{Delay: 100 * time.Millisecond, Loss: 0.025}}
			bad.Out = bad.In // a request and its answer pass four links

			if err := n.SetLink(t.Context(), bad); err != nil {
				t.Fatal(err)
			}
		}

		staysHealed(t, l, machines, before)
	})

	t.Run("a partition", func(t *testing.T) {
		var workers []string
		for _, n := range nodes[1:] {
			workers = append(workers, n.Name)
		}

		if err := machines.Partition(t.Context(), []string{nodes[0].Name}, workers); err != nil {
			t.Fatal(err)
		}

		staysHealed(t, l, machines, before)
	})
}

// staysHealed waits for the duration of a fault, removes it, and waits until the cluster is as before.
func staysHealed(t *testing.T, l *cluster.UserLab, machines *lab.Lab, before []string) {
	t.Helper()

	select {
	case <-time.After(badTime): // the test needs a fault of this duration
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}

	if err := machines.Heal(t.Context()); err != nil {
		t.Fatal(err)
	}

	start := time.Now()

	limit := lateTime
	if cluster.Asked(cluster.All) {
		limit = healTime
	}

	until(t, limit, "all nodes are Ready", func() error {
		ready, err := kubectl(t.Context(), l, "", "get", "nodes", "-o", `jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}`)
		if err != nil {
			return err
		}

		if want := strings.TrimSpace(strings.Repeat("True ", len(machines.Nodes()))); ready != want {
			return fmt.Errorf("the conditions of the nodes are %q", ready)
		}

		after, err := runningPods(t.Context(), l)
		if err == nil && !slices.Equal(after, before) {
			err = fmt.Errorf("the pods are %q, before they were %q", after, before)
		}

		return err
	})
	t.Logf("Ready %.1fs after the network was good again, %d of %d pods are the same as before", time.Since(start).Seconds(), len(before), replicas)
}

// runningPods returns the ids of the Deployment's running pods, sorted.
func runningPods(ctx context.Context, l *cluster.UserLab) ([]string, error) {
	out, err := kubectl(ctx, l, "", "get", "pods", "-l", "app=spread", "--field-selector", "status.phase=Running", "-o", "jsonpath={.items[*].metadata.uid}")
	if err != nil {
		return nil, err
	}

	ids := strings.Fields(out)
	slices.Sort(ids)

	return ids, nil
}

// kubectl runs kubectl as the lab's administrator.
func kubectl(ctx context.Context, l *cluster.UserLab, input string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()

	//program:built kubectl
	cmd := exec.CommandContext(ctx, l.Kubectl,
		append([]string{"--kubeconfig", l.Open().State().KubeconfigPath(), "--request-timeout=10s"}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	cmd.Env = append(cmd.Environ(), "KUBECACHEDIR="+filepath.Join(l.Dir, "kubecache"))

	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}

	return string(out), nil
}

// until tries until the goal is reached; at its timeout the test fails with the last error.
func until(t *testing.T, patience time.Duration, what string, try func() error) {
	t.Helper()

	for deadline := time.Now().Add(patience); ; time.Sleep(500 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}

		if time.Now().After(deadline) {
			t.Fatalf("waited %s until %s: %v", patience, what, err)
		}
	}
}
