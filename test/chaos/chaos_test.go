// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/config/talosconfig"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/machine"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/test/cluster"
	"github.com/seed-59268b81/talos/test/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

const (
	// bootTime bounds the time from power-on to an API, wholeTime the time until the cluster is whole again after a fault.
	bootTime  = 4 * time.Minute
	wholeTime = 6 * time.Minute
	// writers is the number of clients that write.
	writers = 4
)

// world is a cluster that is hurt.
type world struct {
	t       *testing.T
	seed    uint64
	lab     *lab.Lab
	access  *talosconfig.Context
	history *History
	// all are the API servers of all machines that can be control planes, and now is the cluster as it is.
	all []server
	now atomic.Pointer[Cluster]
	// order keeps observations of the members in the order in which they were made.
	order sync.Mutex
}

// TestChaos hurts a cluster of five control planes and two workers for CHAOS_TIME, by default ten minutes. A sixth machine replaces control planes
// that are lost.
func TestChaos(t *testing.T) {
	cluster.Above(t, cluster.Landing, "runs a cluster of seven machines for more than ten minutes")

	length := 10 * time.Minute
	seed := uint64(time.Now().UnixNano()) % 1_000_000

	var err, seedErr error

	if text := os.Getenv("CHAOS_TIME"); text != "" {
		length, err = time.ParseDuration(text)
	}

	if text := os.Getenv("CHAOS_SEED"); text != "" {
		seed, seedErr = strconv.ParseUint(text, 10, 64)
	}

	if err := errors.Join(err, seedErr); err != nil {
		t.Fatalf("CHAOS_TIME is a duration, CHAOS_SEED a number: %v", err)
	}

	t.Logf("CHAOS_SEED=%d CHAOS_TIME=%s repeats this run", seed, length)

	l := cluster.NewUserLab(t, "chaos")
	l.Create(15*time.Minute, "cluster", "create", "container", "--controlplanes", "6", "--workers", "2")

	w := enter(t, l.Open(), seed)
	w.spare()

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	var clients sync.WaitGroup

	for i := range writers {
		clients.Go(func() { w.write(ctx, i) })
	}

	clients.Go(func() { w.watch(ctx) })

	w.hurt(ctx, length)

	if err := w.lab.Heal(t.Context()); err != nil {
		t.Error(err)
	}

	took := w.whole(wholeTime)
	w.settle()

	cancel()
	clients.Wait()

	t.Logf("whole again after %.1fs; %s", took.Seconds(), w.history.Summary())
	w.check()
}

// enter returns the world of a lab.
func enter(t *testing.T, machines *lab.Lab, seed uint64) *world {
	t.Helper()

	w := &world{t: t, seed: seed, lab: machines, history: NewHistory()}

	talos, err := talosconfig.Load(machines.State().TalosconfigPath())
	if err != nil {
		t.Fatal(err)
	}

	if w.access, err = talos.Find(""); err != nil {
		t.Fatal(err)
	}

	file, err := kubeconfig.Read(machines.State().KubeconfigPath())
	if err != nil {
		t.Fatal(err)
	}

	config, err := file.Config()
	if err != nil {
		t.Fatal(err)
	}

	var names Cluster

	for _, n := range machines.Nodes() {
		if n.Role != state.ControlPlane {
			names.Workers = append(names.Workers, n.Name)

			continue
		}

		names.ControlPlanes = append(names.ControlPlanes, n.Name)
		config.Server = "https://" + n.KubernetesEndpoint()

		c, err := kube.New(config)
		if err != nil {
			t.Fatal(err)
		}

		t.Cleanup(c.Close)

		w.all = append(w.all, server{n.Name, c})
	}

	w.now.Store(&names)

	return w
}

// machines returns the machines of the cluster.
func (w *world) machines() []*lab.Node {
	return slices.DeleteFunc(slices.Clone(w.lab.Nodes()), func(n *lab.Node) bool { return n.Name == w.now.Load().Spare })
}

func (w *world) controlPlanes() []*lab.Node {
	return slices.DeleteFunc(w.machines(), func(n *lab.Node) bool { return n.Role != state.ControlPlane })
}

// servers returns the API servers of the cluster.
func (w *world) servers() []server {
	return slices.DeleteFunc(slices.Clone(w.all), func(s server) bool { return s.name == w.now.Load().Spare })
}

// others returns the machines of the cluster that are not in the list.
func (w *world) others(names []string) []string {
	var out []string

	for _, n := range w.machines() {
		if !slices.Contains(names, n.Name) {
			out = append(out, n.Name)
		}
	}

	return out
}

// hurt carries out the rounds of the seed until the time is over.
func (w *world) hurt(ctx context.Context, length time.Duration) {
	if err := w.slowDisks(ctx); err != nil {
		w.t.Logf("no disk becomes slow: %v", err)

		names := *w.now.Load()
		names.Without = append(names.Without, SlowDisk)
		w.now.Store(&names)
	}

	start := time.Now()

	for n := uint64(0); time.Since(start) < length; n++ {
		before := w.now.Load()
		round := Plan(w.seed, n, *before)
		w.t.Logf("%6.1fs  round %d: %v", time.Since(start).Seconds(), n, round.Faults)

		if err := w.do(ctx, round); err != nil {
			w.t.Fatalf("round %d: %v", n, err)
		}

		after := before.After(round)
		w.now.Store(&after)

		pause(ctx, round.Rest)

		if round.Recover {
			w.t.Logf("%6.1fs  whole again after %.1fs", time.Since(start).Seconds(), w.whole(wholeTime).Seconds())
			w.settle()
		}
	}
}

// slowDisks returns why this computer cannot make the disks of machines slow.
func (w *world) slowDisks(ctx context.Context) error {
	n := w.machines()[0]

	if err := n.SetDisk(ctx, slowDisk); err != nil {
		return err
	}

	return n.SetDisk(ctx, machine.Disk{})
}

// whole waits until each machine is a Ready node and each control plane a voting member of etcd, and returns how long that took.
func (w *world) whole(limit time.Duration) time.Duration {
	w.t.Helper()

	start := time.Now()

	for {
		ctx, done := context.WithTimeout(w.t.Context(), 15*time.Second)
		err := w.missing(ctx, start)

		done()

		if err == nil {
			return time.Since(start)
		}

		if time.Since(start) > limit {
			w.t.Fatalf("%s after the fault: %v; so far: %s", limit, err, w.history.Summary())
		}

		pause(w.t.Context(), time.Second)
	}
}

// missing returns what the cluster lacks to be whole. Kubernetes takes a machine that is gone for Ready for some time, so each kubelet must have
// renewed its lease since a time.
func (w *world) missing(ctx context.Context, since time.Time) error {
	var voters []string

	err := w.with(ctx, w.controlPlanes()[0], func(api *client.Client) error {
		members, err := api.EtcdMembers(ctx, false)

		for _, m := range members {
			if m.GetIsLearner() {
				return fmt.Errorf("member %s of etcd is still a learner", m.GetHostname())
			}

			voters = append(voters, m.GetHostname())
		}

		return err
	})
	if err != nil {
		return err
	}

	slices.Sort(voters)

	var names []string
	for _, n := range w.controlPlanes() {
		names = append(names, n.Name)

		err := w.with(ctx, n, func(api *client.Client) error {
			status, err := api.EtcdStatus(ctx)
			if err == nil && len(status.GetErrors()) > 0 {
				err = fmt.Errorf("etcd of %s: %s", n.Name, strings.Join(status.GetErrors(), ", "))
			}

			return err
		})
		if err != nil {
			return err
		}
	}

	slices.Sort(names)

	if !slices.Equal(voters, names) {
		return fmt.Errorf("the voting members of etcd are %v, want %v", voters, names)
	}

	for _, s := range w.servers() {
		if err := s.Ready(ctx); err != nil {
			return fmt.Errorf("API server of %s: %w", s.name, err)
		}
	}

	nodes, err := w.servers()[0].Nodes(ctx)
	if err != nil {
		return err
	}

	var wanted []string
	for _, n := range w.machines() {
		wanted = append(wanted, n.Addr.String())
	}

	if err := nodes.Ready(wanted); err != nil {
		return err
	}

	if len(nodes.Items) != len(wanted) {
		return fmt.Errorf("Kubernetes has %d nodes, want %d", len(nodes.Items), len(wanted))
	}

	for _, n := range w.machines() {
		lease, err := w.servers()[0].Get(ctx, "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/"+n.Name)
		if err != nil {
			return fmt.Errorf("lease of %s: %w", n.Name, err)
		}

		renewed, err := time.Parse(time.RFC3339, kube.At[string](lease, "spec", "renewTime"))
		if err != nil || !renewed.After(since) {
			return fmt.Errorf("the kubelet of %s has not renewed its lease since %s (%v)", n.Name, renewed.Format(time.TimeOnly), err)
		}
	}

	return nil
}

// check compares what the clients saw with what the cluster has, and looks for signs of faults on the consoles.
func (w *world) check() {
	w.t.Helper()

	ctx, done := context.WithTimeout(w.t.Context(), time.Minute)
	defer done()

	list, err := w.servers()[0].Get(ctx, configMaps+"?labelSelector=chaos="+strconv.FormatUint(w.seed, 10))
	if err != nil {
		w.t.Fatal(err)
	}

	keys := map[string]bool{}
	for _, item := range kube.Items(list, "items") {
		keys[kube.At[string](item, "metadata", "name")] = true
	}

	if len(keys) == 0 {
		w.t.Error("no client could write")
	}

	for _, violation := range w.history.Check(keys) {
		w.t.Error(violation)
	}

	for _, n := range w.lab.Nodes() {
		findings, err := n.Findings()
		if err != nil {
			w.t.Error(err)
		}

		for _, f := range findings {
			w.t.Errorf("console of %s: %s", n.Name, f)
		}
	}
}
