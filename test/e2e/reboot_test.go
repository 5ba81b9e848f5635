// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/test/cluster"
)

// graceful is a workload that takes eight of its 25 seconds to end, and records how it ended.
const graceful = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: graceful, namespace: ` + namespace + `}
spec:
  selector: {matchLabels: {app: graceful}}
  template:
    metadata: {labels: {app: graceful}}
    spec:
      terminationGracePeriodSeconds: 25
      containers:
        - name: graceful
          image: ` + images.DefaultAgnhost + `
          command: [sh, -c]
          args:
            - |
              trap 'echo SIGTERM >> /data/graceful; for i in 1 2 3 4 5 6 7 8; do sleep 1; done; echo ended >> /data/graceful; exit 0' TERM
              while true; do sleep 1; done
          lifecycle: {preStop: {exec: {command: [sh, -c, echo preStop >> /data/graceful]}}}
          volumeMounts: [{name: data, mountPath: /data}]
      volumes:
        - {name: data, hostPath: {path: /var/lib/e2e, type: DirectoryOrCreate}}
---
apiVersion: v1
kind: Service
metadata: {name: graceful, namespace: ` + namespace + `}
spec:
  selector: {app: graceful}
  ports: [{port: 80}]
`

// gracefully reboots a machine under a workload that needs time to end: first it loses its endpoint, then it gets its
// preStop hook, its SIGTERM and its grace period.
func gracefully(t *testing.T, c *cluster.Cluster) {
	c.Kubectl(graceful, "apply", "-f", "-")
	c.PodsReady(namespace, "app=graceful", 1)
	c.Until("the workload has an endpoint", time.Minute, func(ctx context.Context) error {
		if n, err := endpoints(ctx, c); err != nil || n != 1 {
			return errors.Join(err, fmt.Errorf("it has %d", n))
		}

		return nil
	})

	time.Sleep(2 * time.Second) // until its SIGTERM handler is set

	watched := watchEnd(t, c)

	rebooted(t, c)

	end := <-watched

	t.Logf("endpoint removed after %s; the container ran for %s after that at least", end.endpoint.Round(time.Millisecond), (end.running - end.endpoint).Round(time.Millisecond))

	// It takes eight seconds to end, and the control plane must have seen five of them.
	if end.endpoint == 0 || end.running < end.endpoint+5*time.Second {
		t.Errorf("endpoint removed after %s, container seen running until %s", end.endpoint, end.running)
	}

	c.Until("the file of the workload shows how it ended", 3*time.Minute, func(ctx context.Context) error {
		out, err := c.TalosctlCommand(ctx, "read", "/var/lib/e2e/graceful").CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}

		if want := "preStop\nSIGTERM\nended\n"; string(out) != want {
			t.Errorf("the workload wrote %q, want %q", out, want)
		}

		return nil
	})
}

// ending is what the control plane saw of the workload's end, counted from the start of the watch.
type ending struct {
	endpoint time.Duration // when the endpoint was removed
	running  time.Duration // when its container was last seen running
}

// watchEnd watches the workload until its container or the API server has ended.
func watchEnd(t *testing.T, c *cluster.Cluster) <-chan ending {
	start, out := time.Now(), make(chan ending, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)

	go func() {
		defer cancel()

		var e ending

		for ctx.Err() == nil {
			pods, err := c.Pods(ctx, namespace, "app=graceful")
			if err != nil && e.endpoint > 0 {
				break
			}

			for _, p := range pods {
				for _, s := range p.Status.ContainerStatuses {
					if _, runs := s.State["running"]; runs {
						e.running = time.Since(start)
					}
				}
			}

			if n, err := endpoints(ctx, c); err == nil && n == 0 && e.endpoint == 0 {
				e.endpoint = time.Since(start)
			}

			time.Sleep(200 * time.Millisecond)
		}

		out <- e
	}()

	return out
}

// endpoints counts the addresses of the workload's Service that are ready.
func endpoints(ctx context.Context, c *cluster.Cluster) (int, error) {
	text, err := c.TryKubectl(ctx, "get", "--raw",
		"/apis/discovery.k8s.io/v1/namespaces/"+namespace+"/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dgraceful", "--request-timeout=5s")
	if err != nil {
		return 0, err
	}

	var list struct {
		Items []struct {
			Endpoints []struct{ Conditions struct{ Ready bool } }
		}
	}

	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return 0, err
	}

	n := 0

	for _, slice := range list.Items {
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready {
				n++
			}
		}
	}

	return n, nil
}

// clean checks that the file systems were unmounted: none has a log to replay.
func clean(t *testing.T, c *cluster.Cluster) {
	c.Until("STATE and EPHEMERAL are mounted", 3*time.Minute, func(ctx context.Context) error {
		out, err := c.TalosctlCommand(ctx, "dmesg").CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}

		found := 0

		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, "Starting recovery") {
				t.Error(line)
			}

			if strings.Contains(line, "Ending clean mount") || strings.Contains(line, "Ending recovery") {
				found++
			}
		}

		if found < 2 {
			return fmt.Errorf("%d file systems were mounted", found)
		}

		return nil
	})
}
