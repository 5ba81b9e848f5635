// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/gateway/metadata"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/test/cluster"
)

// rollingTime is how long the upgrade of three emulated machines may take, one after the other.
const rollingTime = 45 * time.Minute

// rolled is a Deployment of two replicas on two nodes, of which Kubernetes evicts only one at a time.
const rolled = `
apiVersion: v1
kind: Namespace
metadata: {name: ` + namespace + `}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: spread, namespace: ` + namespace + `}
spec:
  replicas: 2
  selector: {matchLabels: {app: spread}}
  template:
    metadata: {labels: {app: spread}}
    spec:
      topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: spread}}}
      containers:
        - name: web
          image: ` + images.DefaultAgnhost + `
          args: [netexec, --http-port=8080]
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 2}
          lifecycle: {preStop: {sleep: {seconds: 5}}} # requests that are on their way still arrive
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: spread, namespace: ` + namespace + `}
spec:
  minAvailable: 1
  selector: {matchLabels: {app: spread}}
---
apiVersion: v1
kind: Service
metadata: {name: spread, namespace: ` + namespace + `}
spec:
  selector: {app: spread}
  ports: [{port: 80, targetPort: 8080}]
`

// TestRollingUpgrade upgrades a control plane and a worker of a cluster whose other two control planes are containers, with a command of
// docs/upgrade-cluster.md. Meanwhile a client writes to Kubernetes and reads, and another asks a workload that runs on the nodes.
func TestRollingUpgrade(t *testing.T) {
	cluster.Above(t, cluster.All, "starts two virtual machines twice, which takes long where they are emulated")

	rollingUpgrade(t, lab.Options{
		Provisioner: state.Container, WorkerProvisioner: state.QEMU, Cloud: metadata.NoCloud, ControlPlanes: 3, Workers: 1,
		Virtual: []string{"e2e-controlplane-3"}, Off: []string{"e2e-controlplane-3", "e2e-worker-1"},
	})
}

// TestVirtualRollingUpgrade upgrades all of three control planes. Two cores that emulate three API servers are too slow for it.
func TestVirtualRollingUpgrade(t *testing.T) {
	cluster.Above(t, cluster.All, "starts three virtual machines twice, which takes long where they are emulated")

	rollingUpgrade(t, lab.Options{
		Provisioner: state.QEMU, Cloud: metadata.NoCloud, ControlPlanes: 3, Off: []string{"e2e-controlplane-2", "e2e-controlplane-3"},
	})
}

// rollingUpgrade upgrades the virtual machines of a cluster. Machines that are off join one after the other. At the upgrade, all of them run
// beside the load: a start takes longer than the first one, and so may a trial.
func rollingUpgrade(t *testing.T, options lab.Options) {
	var (
		p     = newPage(t, nil, "upgrade-cluster.md")
		c     = cluster.StartConfigured(t, options)
		s     = &scaled{Cluster: c, t: t}
		nodes = c.Lab.Nodes()
		// upgraded are the addresses of the virtual machines, and named is talosctl's flag for them.
		upgraded []string
		named    = "--cluster"
	)

	for _, n := range nodes {
		if n.As() == state.QEMU {
			upgraded = append(upgraded, n.Addr.String())
		}
	}

	if len(upgraded) < len(nodes) {
		named = "-n " + strings.Join(upgraded, ",")
	}

	run := func(timeout time.Duration, line string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()

		start := time.Now()
		out, err := c.TalosctlCommand(ctx, strings.Fields(line)...).CombinedOutput()
		t.Logf("talosctl %s (%.0f s): %v\n%s", line, time.Since(start).Seconds(), err, out)

		return string(out), err
	}

	s.step("starts", func() {
		c.Answers()
		c.Bootstrap()
		c.Kubeconfig()
		s.ready(nodes[0])

		for i, n := range nodes[1:] {
			isOff := slices.Contains(options.Off, n.Name)

			if isOff && n.Role == state.ControlPlane {
				s.join(n, nodes[:i+2])

				continue
			}

			if isOff {
				if err := n.PowerOn(s.t.Context()); err != nil {
					s.t.Fatal(err)
				}
			}

			s.ready(n)
		}

		c.Kubectl(rolled, "apply", "-f", "-")
		c.PodsReady(namespace, "app=spread", 2)
	})

	ctx := s.startLoad(nodes[0])
	asker := s.load.newWriter("workload", c.Lab.KubernetesEndpoint(), c.Lab.State().KubeconfigPath(), nil)
	asker.url = "https://" + c.Lab.KubernetesEndpoint() + "/api/v1/namespaces/" + namespace + "/services/spread:80/proxy"
	s.load.clients = append(s.load.clients, asker)
	s.load.done.Go(func() {
		for ctx.Err() == nil {
			asker.ask(ctx, http.MethodGet, "/hostname", "", "", func(int, configMap) string { return "" })
		}
	})

	s.step("upgrades one node after the other", func() {
		next := released(s.t).Installer()
		image := generate.InstallerRepository + ":" + nextVersion

		line := p.has(s.t, "-n 10.5.0.2,10.5.0.3,10.5.0.4 image import --namespace system installer-amd64.tar", "10.5.0.2,10.5.0.3,10.5.0.4", strings.Join(upgraded, ","), "installer-amd64.tar", next)
		if out, err := run(upgradeTime, line); err != nil {
			s.t.Fatalf("%v: %s (make next builds the archive)", err, out)
		}

		out, err := run(rollingTime, p.has(s.t, "upgrade --cluster --image "+image, "--cluster", named)+" --timeout "+rollingTime.String()+" --trial-timeout 10m")
		if err != nil {
			s.t.Fatal(err)
		}

		if got := strings.Count(out, "It stays if the machine is healthy within 10m0s"); got != len(upgraded) {
			s.t.Errorf("%d nodes try the version for 10 minutes, want %d", got, len(upgraded))
		}

		if got := strings.Count(out, "the version stays: all conditions held for 30s"); got != len(upgraded) {
			s.t.Errorf("%d nodes kept the version, want %d", got, len(upgraded))
		}

		if out, err := run(time.Minute, p.has(s.t, "get version --cluster")); err != nil || strings.Count(out, nextVersion) != len(upgraded) {
			s.t.Errorf("%v: got %s, want %s on each of them", err, out, nextVersion)
		}

		if out, err := run(time.Minute, p.has(s.t, "get trials --cluster")); err != nil || strings.Count(out, "committed") != len(upgraded) {
			s.t.Errorf("%v: got %s, want a trial that is committed on each of them", err, out)
		}

		if _, err := run(time.Minute, p.has(s.t, "etcd members -n 10.5.0.2")); err != nil {
			s.t.Error(err)
		}
	})

	s.load.stop()

	for _, w := range s.load.clients {
		t.Logf("client %s: %d requests, %d failed and were repeated", w.name, w.requests, w.failures)

		if w.requests < 10 {
			t.Errorf("client %s asked only %d times", w.name, w.requests)
		}

		for _, lost := range append(w.lost, w.wrong...) {
			t.Errorf("client %s: %s", w.name, lost)
		}
	}

	if len(p.left) > 0 {
		t.Errorf("no step runs these commands of docs/%s: %v", p.file, p.left)
	}
}
