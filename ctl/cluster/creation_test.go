// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/config/talosconfig"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/lab"
	labcluster "github.com/seed-59268b81/talos/lab/cluster"
	"github.com/seed-59268b81/talos/lab/cluster/clustertest"
)

func newTestCreation(t *testing.T, own bool, out *strings.Builder) (*creation, *clustertest.Machine) {
	home := t.TempDir()
	t.Setenv("TALOSCONFIG", filepath.Join(home, "talosconfig"))
	t.Setenv("KUBECONFIG", filepath.Join(home, "kubeconfig"))

	f := clustertest.NewMachine(t, "10.5.0.2")
	l := clustertest.Lab(t, f)
	p := &place{name: "demo"}

	if own {
		p.state = filepath.Dir(l.State().Dir)
	}

	c := &creation{
		createFlags: &createFlags{kubernetesVersion: images.KubernetesVersion, wait: true},
		place:       p, steps: newSteps(out), config: labcluster.Options(1),
	}
	c.begin(l)
	c.cluster.Alive = nil

	return c, f
}

// TestMachinesBecomeACluster creates a cluster of a fake machine, whose certificates are as strict as real ones.
func TestMachinesBecomeACluster(t *testing.T) {
	for _, own := range []bool{true, false} {
		t.Run(fmt.Sprintf("state named %v", own), func(t *testing.T) {
			var out strings.Builder

			c, f := newTestCreation(t, own, &out)

			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()

			if err := c.make(ctx); err != nil {
				t.Fatal(err)
			}

			want := []string{"version", "apply", "bootstrap", "bootstrap", "kubeconfig", "health"}
			if d := cmp.Diff(want, f.Calls()); d != "" {
				t.Errorf("calls (-want +got):\n%s", d)
			}

			for _, part := range []string{"disk: /dev/vda", "- 127.0.0.1", "endpoint: https://10.5.0.2:6443"} {
				if !strings.Contains(f.Configuration(), part) {
					t.Errorf("the configuration has no %q:\n%s", part, f.Configuration())
				}
			}

			checkTalosconfig(t, c.cluster.Machines.State().TalosconfigPath(), f.Endpoint())
			checkKubeconfig(t, c.cluster.Machines.State().KubeconfigPath(), f.KubernetesEndpoint())

			if own {
				for _, file := range []string{os.Getenv("TALOSCONFIG"), os.Getenv("KUBECONFIG")} {
					if _, err := os.Stat(file); !os.IsNotExist(err) {
						t.Errorf("the user's own file was written: %v", err)
					}
				}
			} else {
				checkTalosconfig(t, os.Getenv("TALOSCONFIG"), f.Endpoint())
				checkKubeconfig(t, os.Getenv("KUBECONFIG"), f.KubernetesEndpoint())
			}

			said := regexp.MustCompile(`(?m)^ +\d+\.\ds  |127.0.0.1:\d+|/\S+/`).ReplaceAllString(out.String(), "")
			wantSaid := `waiting for the API of demo-controlplane-1 (10.5.0.2, here )
all machines are in maintenance
configuration applied to demo-controlplane-1
  a warning
waiting for demo-controlplane-1 to run with its configuration, then bootstrap
bootstrapped
waiting for 1 ready node in Kubernetes (https://)
all nodes are ready; checking the cluster's health
  etcd is healthy: OK
  all is well: OK
`

			if !own {
				wantSaid = strings.Replace(wantSaid, "configuration applied", "talosconfig merged into talosconfig\nconfiguration applied", 1)
				wantSaid = strings.Replace(wantSaid, "waiting for 1 ready", "kubeconfig merged into kubeconfig\nwaiting for 1 ready", 1)
			}

			if d := cmp.Diff(wantSaid, said); d != "" {
				t.Errorf("said (-want +got):\n%s", d)
			}
		})
	}
}

func checkTalosconfig(t *testing.T, path, endpoint string) {
	t.Helper()

	config, err := talosconfig.Load(path)
	if err != nil {
		t.Fatal(err)
	}

	got := config.Contexts["demo"]
	if got == nil || config.Context != "demo" {
		t.Fatalf("%s has contexts %v, current %q", path, config.Names(), config.Context)
	}

	if d := cmp.Diff([][]string{{endpoint}, {"10.5.0.2"}}, [][]string{got.Endpoints, got.Nodes}); d != "" {
		t.Errorf("%s: endpoints and nodes (-want +got):\n%s", path, d)
	}
}

func checkKubeconfig(t *testing.T, path, server string) {
	t.Helper()

	config, err := kubeconfig.Read(path)
	if err != nil {
		t.Fatal(err)
	}

	if got, err := config.Config(); err != nil || got.Cluster != "demo" || got.Server != "https://"+server || got.Context != "admin@demo" {
		t.Errorf("%s: got cluster %s at %s, current context %q, %v; want server %s", path, got.Cluster, got.Server, got.Context, err, server)
	}
}

func TestMachineThatDiesEndsTheWait(t *testing.T) {
	var out strings.Builder

	c, _ := newTestCreation(t, true, &out)
	c.cluster.Alive = func(context.Context, *lab.Node) error {
		return labcluster.FinalError{Err: errors.New("the machine is off: the guest powered off")}
	}

	n := c.cluster.Machines.Node(0)
	if err := os.MkdirAll(filepath.Dir(n.ConsolePath()), 0o700); err != nil {
		t.Fatal(err)
	}

	const last = "+  9.000 [    4.000000] Kernel panic - not syncing: no init"

	if err := os.WriteFile(n.ConsolePath(), []byte("first\n"+last+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	got := (&creationError{err: c.make(t.Context()), c: c}).Error()
	for _, part := range []string{
		"create cluster demo: wait until the API of demo-controlplane-1 answers: the machine is off: the guest powered off",
		"shows a fault: ", "kernel panic", "    " + last + "\n", "talosctl cluster destroy --name demo --state ",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("got %q, want it to hold %q", got, part)
		}
	}
}
