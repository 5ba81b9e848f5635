// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/test/cluster"
)

const (
	namespace = cluster.Namespace
	// content is that of the file that outlives boots.
	content = "written-by-a-pod"
	// written is the file of the machine with it.
	written = "/var/lib/e2e/file"
	// servedTime bounds the time until the workload answers; a slow computer that emulates its machine takes minutes.
	servedTime = 10 * time.Minute
)

// workload is a Deployment of two replicas with its Service, and a pod for requests to it.
const workload = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: ` + namespace + `}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: web
          image: ` + images.DefaultAgnhost + `
          args: [netexec, --http-port=8080]
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 2}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: ` + namespace + `}
spec:
  selector: {app: web}
  ports: [{port: 80, targetPort: 8080}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: client, namespace: ` + namespace + `}
spec:
  selector: {matchLabels: {app: client}}
  template:
    metadata: {labels: {app: client}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - {name: client, image: ` + images.DefaultAgnhost + `, args: [pause]}
`

// served sends requests to the Service by its name from another pod until both replicas have answered.
func served(t *testing.T, c *cluster.Cluster) {
	seen := map[string]bool{}

	c.Until("both replicas answer through the Service", servedTime, func(context.Context) error {
		// A command in a pod of an emulated machine takes more than ten seconds on a slow computer.
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()

		// A request before the name exists would wait for minutes, through all the tries of the resolver.
		answer, err := c.TryKubectl(ctx, "-n", namespace, "exec", "deploy/client", "--", "timeout", "15",
			"wget", "-q", "-O", "-", "http://web."+namespace+".svc.cluster.local/hostname")
		if err != nil {
			return err
		}

		pods, err := c.Pods(ctx, namespace, "app=web")
		if err != nil {
			return err
		}

		var names []string
		for _, p := range pods {
			names = append(names, p.Metadata.Name)
		}

		if !slices.Contains(names, answer) {
			return fmt.Errorf("%q answered, the pods are %q", answer, names)
		}

		if seen[answer] = true; len(seen) < 2 {
			return fmt.Errorf("only %q has answered", slices.Collect(maps.Keys(seen)))
		}

		return nil
	})
}

// systemPods checks that the real components are there, each by its label, and that all pods run.
func systemPods(t *testing.T, c *cluster.Cluster) {
	c.PodsReady("kube-system", "", 7)

	pods, err := c.Pods(t.Context(), "kube-system", "")
	if err != nil {
		t.Fatal(err)
	}

	for name, count := range map[string]int{
		"kube-apiserver": 1, "kube-controller-manager": 1, "kube-scheduler": 1, "kube-proxy": 1, "kube-flannel": 1, "coredns": 2,
	} {
		got := 0

		for _, p := range pods {
			if strings.HasPrefix(p.Metadata.Name, name+"-") {
				got++
			}
		}

		if got != count {
			t.Errorf("pods of %s: got %d, want %d", name, got, count)
		}
	}

	for _, p := range pods {
		for _, container := range p.Spec.Containers {
			if !slices.Contains(images.Node(), container.Image) {
				t.Errorf("pod %s runs the image %s, which is not in the list", p.Metadata.Name, container.Image)
			}
		}
	}
}
