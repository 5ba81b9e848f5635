// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/config/talosconfig"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/lab/cluster/clustertest"
)

// TestWorkersJoin makes a cluster of a control plane and workers. Each worker gets its configuration, at once or when
// the control plane is ready, must become a node of Kubernetes, and must answer through the control plane.
func TestWorkersJoin(t *testing.T) {
	for name, inTurn := range map[string]bool{"at once": false, "in turn": true} {
		t.Run(name, func(t *testing.T) { workersJoin(t, inTurn) })
	}
}

func workersJoin(t *testing.T, inTurn bool) {
	var out strings.Builder

	first := clustertest.NewMachine(t, "10.5.0.2")
	workers := []*clustertest.Machine{clustertest.NewMachine(t, "10.5.0.3"), clustertest.NewMachine(t, "10.5.0.4")}
	first.Others = []string{"10.5.0.3", "10.5.0.4"}

	c := New(clustertest.Lab(t, first, workers...), Wait{
		Say: func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) },
		Try: 10 * time.Second, Every: 250 * time.Millisecond, Final: Final,
	})
	c.Emulated = inTurn

	plan := Plan{
		KubernetesVersion: images.KubernetesVersion, Config: Options(len(workers)), Ready: true,
		Talosconfig: func(*talosconfig.Config) error { return nil }, Kubeconfig: func(*kubeconfig.File) error { return nil },
	}

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()

	if err := c.Make(ctx, plan); err != nil {
		t.Fatal(err)
	}

	said := out.String()
	if ready, applied := strings.Index(said, "waiting for 1 ready node"), strings.Index(said, "configuration applied to demo-worker-1"); inTurn != (ready >= 0 && ready < applied) {
		t.Errorf("in turn %t: got\n%s", inTurn, said)
	}

	if got := strings.Count(said, "a warning"); got != 1 {
		t.Errorf("got\n%s\nwant the warning of three machines once", said)
	}

	want := []string{"version", "apply", "bootstrap", "bootstrap", "kubeconfig", "version of 10.5.0.3", "version of 10.5.0.4", "health"}
	if d := cmp.Diff(want, first.Calls()); d != "" {
		t.Errorf("calls of the control plane (-want +got):\n%s", d)
	}

	if elects := !strings.Contains(first.Configuration(), `leader-elect: "false"`); elects == inTurn {
		t.Errorf("emulated %t: got leader election %t", inTurn, elects)
	}

	for _, w := range workers {
		if d := cmp.Diff([]string{"version", "apply"}, w.Calls()); d != "" {
			t.Errorf("calls of worker %s (-want +got):\n%s", w.Addr, d)
		}

		if !strings.Contains(w.Configuration(), "type: worker") || strings.Contains(first.Configuration(), "type: worker") {
			t.Errorf("worker %s got the configuration\n%s", w.Addr, w.Configuration())
		}
	}

	ctx, cancel = context.WithTimeoutCause(t.Context(), time.Second, errors.New("time is up"))
	defer cancel()

	first.Others = first.Others[:1]

	if err := c.kubernetes(ctx, plan, c.Machines.Nodes(), nil); err == nil || !strings.Contains(err.Error(), "node 10.5.0.4 is not registered") {
		t.Errorf("with a worker that does not join: got %v, want it named", err)
	}
}
