// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
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
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/lab/world"
)

// labOf returns a lab of fake machines, one control plane and workers.
func labOf(t *testing.T, f *fakeMachine, workers ...*fakeMachine) *lab.Lab {
	port := func(addr string) uint16 { return netip.MustParseAddrPort(addr).Port() }

	s := &state.Lab{
		Dir: filepath.Join(t.TempDir(), "demo"), Name: "demo",
		World: world.World{Networks: []world.Network{{
			Name: "lab", Subnet4: netip.MustParsePrefix("10.5.0.0/24"), Gateway4: netip.MustParseAddr("10.5.0.1"),
		}}},
		Nodes: []state.Node{{
			Name: "demo-controlplane-1", Role: state.ControlPlane, Addr: netip.MustParseAddr(f.addr),
			Cards:   []world.Card{{Network: "lab", MAC: "52:54:0a:05:00:02"}},
			APIPort: port(f.api.Addr().String()), KubernetesPort: port(f.kubernetes.Listener.Addr().String()),
		}},
	}
	for i, w := range workers {
		s.Nodes = append(s.Nodes, state.Node{
			Name: fmt.Sprintf("demo-worker-%d", i+1), Role: state.Worker, Addr: netip.MustParseAddr(w.addr), APIPort: port(w.api.Addr().String()),
			Cards: []world.Card{{Network: "lab", MAC: fmt.Sprintf("52:54:0a:05:00:%02x", 3+i)}},
		})
	}

	if err := s.Create(); err != nil {
		t.Fatal(err)
	}

	l, err := lab.Open(s.Dir)
	if err != nil {
		t.Fatal(err)
	}

	return l
}

func newTestCreation(t *testing.T, own bool, out *strings.Builder) (*creation, *fakeMachine) {
	home := t.TempDir()
	t.Setenv("TALOSCONFIG", filepath.Join(home, "talosconfig"))
	t.Setenv("KUBECONFIG", filepath.Join(home, "kubeconfig"))

	f := newFakeMachine(t, "10.5.0.2")
	l := labOf(t, f)
	p := &place{name: "demo"}

	if own {
		p.state = filepath.Dir(l.State().Dir)
	}

	c := &creation{
		createFlags: &createFlags{kubernetesVersion: images.KubernetesVersion, wait: true},
		place:       p, steps: newSteps(out),
	}
	c.config.AdditionalSANs = []string{"127.0.0.1"}
	c.config.InstallDisk = "/dev/vda"
	c.begin(l, func(context.Context, *lab.Node) error { return nil })

	return c, f
}

// TestMachinesBecomeACluster goes the whole way with a fake machine, whose
// certificates are as strict as a real one's.
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
			if d := cmp.Diff(want, f.calls); d != "" {
				t.Errorf("calls (-want +got):\n%s", d)
			}

			for _, part := range []string{"disk: /dev/vda", "- 127.0.0.1", "endpoint: https://10.5.0.2:6443"} {
				if !strings.Contains(string(f.config), part) {
					t.Errorf("the configuration has no %q:\n%s", part, f.config)
				}
			}

			checkTalosconfig(t, c.machines.State().TalosconfigPath(), f.api.Addr().String())
			checkKubeconfig(t, c.machines.State().KubeconfigPath(), f.kubernetes.Listener.Addr().String())

			if own {
				for _, file := range []string{os.Getenv("TALOSCONFIG"), os.Getenv("KUBECONFIG")} {
					if _, err := os.Stat(file); !os.IsNotExist(err) {
						t.Errorf("the user's own file was written: %v", err)
					}
				}
			} else {
				checkTalosconfig(t, os.Getenv("TALOSCONFIG"), f.api.Addr().String())
				checkKubeconfig(t, os.Getenv("KUBECONFIG"), f.kubernetes.Listener.Addr().String())
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

// TestWorkersJoin goes the same way with workers: each gets a worker's configuration, at once or when the control plane is
// ready, is awaited in Kubernetes, and has to answer through the control plane.
func TestWorkersJoin(t *testing.T) {
	for name, inTurn := range map[string]bool{"at once": false, "in turn": true} {
		t.Run(name, func(t *testing.T) { workersJoin(t, inTurn) })
	}
}

func workersJoin(t *testing.T, inTurn bool) {
	var out strings.Builder

	c, first := newTestCreation(t, true, &out)
	workers := []*fakeMachine{newFakeMachine(t, "10.5.0.3"), newFakeMachine(t, "10.5.0.4")}
	first.others = []string{"10.5.0.3", "10.5.0.4"}

	c.begin(labOf(t, first, workers...), func(context.Context, *lab.Node) error { return nil })
	c.emulated, c.inTurn = inTurn, inTurn

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()

	if err := c.make(ctx); err != nil {
		t.Fatal(err)
	}

	said := out.String()
	if ready, applied := strings.Index(said, "waiting for 1 ready node"), strings.Index(said, "configuration applied to demo-worker-1"); inTurn != (ready >= 0 && ready < applied) {
		t.Errorf("in turn %t: got\n%s", inTurn, said)
	}

	want := []string{"version", "apply", "bootstrap", "bootstrap", "kubeconfig", "version of 10.5.0.3", "version of 10.5.0.4", "health"}
	if d := cmp.Diff(want, first.calls); d != "" {
		t.Errorf("calls of the control plane (-want +got):\n%s", d)
	}

	if elects := !strings.Contains(string(first.config), `leader-elect: "false"`); elects == inTurn {
		t.Errorf("emulated %t: got leader election %t", inTurn, elects)
	}

	for _, w := range workers {
		if d := cmp.Diff([]string{"version", "apply"}, w.calls); d != "" {
			t.Errorf("calls of worker %s (-want +got):\n%s", w.addr, d)
		}

		if !strings.Contains(string(w.config), "type: worker") || strings.Contains(string(first.config), "type: worker") {
			t.Errorf("worker %s got the configuration\n%s", w.addr, w.config)
		}
	}

	ctx, cancel = context.WithTimeoutCause(t.Context(), time.Second, errors.New("time is up"))
	defer cancel()

	first.others, c.inTurn = first.others[:1], false

	if err := c.kubernetes(ctx, nil); err == nil || !strings.Contains(err.Error(), "node 10.5.0.4 is not registered") {
		t.Errorf("with a worker that does not join: got %v, want it named", err)
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
	c.begin(c.machines, func(context.Context, *lab.Node) error {
		return finalError{errors.New("the machine is off: the guest powered off")}
	})

	n := c.machines.Node(0)
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
