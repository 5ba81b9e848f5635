// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/gateway/metadata"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/test/cluster"
)

// TestControlPlanes grows a cluster from one control plane to three and shrinks it again, while clients write and read. In between it loses
// single machines, and all at once.
func TestControlPlanes(t *testing.T) {
	cluster.Above(t, cluster.Landing, "runs five machines for five minutes")
	controlPlanes(t, lab.Options{Provisioner: state.Container, ControlPlanes: 3, Workers: 2}, withVirtualAddress)
}

// TestFiveControlPlanes grows it to five.
func TestFiveControlPlanes(t *testing.T) {
	cluster.Above(t, cluster.All, "runs six machines for ten minutes")
	controlPlanes(t, lab.Options{Provisioner: state.Container, ControlPlanes: 5, Workers: 1}, withVirtualAddress)
}

// TestVirtualControlPlanes does the same with virtual machines.
func TestVirtualControlPlanes(t *testing.T) {
	cluster.Above(t, cluster.All, "boots four virtual machines, which takes long where they are emulated")
	controlPlanes(t, lab.Options{Provisioner: state.QEMU, Cloud: metadata.NoCloud, ControlPlanes: 3, Workers: 1})
}

// Limits for one run on a shared computer. The measured times are in the table at the end of the test.
const (
	// joinTime is from power-on to a Ready node whose member of etcd has a vote.
	joinTime = 3 * time.Minute
	// silence is how long a client may be without an answer after the power cut of the leader.
	silence = 5 * time.Second
)

// kubePrismClient begins the names of the clients of KubePrism.
const kubePrismClient = "kubeprism"

// scaled is a cluster whose control planes come and go.
type scaled struct {
	*cluster.Cluster
	t    *testing.T
	load *load
	// late are the limits that were exceeded. They fail the test at its end: the later steps do not depend on them.
	late []string
}

func controlPlanes(t *testing.T, options lab.Options, edits ...func(*generate.Options) error) {
	for i := 2; i <= options.ControlPlanes; i++ {
		options.Off = append(options.Off, fmt.Sprintf("e2e-controlplane-%d", i))
	}

	s := &scaled{Cluster: cluster.StartConfigured(t, options, edits...), t: t}
	planes, workers := s.Lab.Nodes()[:options.ControlPlanes], s.Lab.Nodes()[options.ControlPlanes:]

	s.step("starts with one control plane", func() {
		s.Answers()
		s.Bootstrap()
		s.Kubeconfig()
		s.ready(planes[0])

		for _, n := range workers {
			s.ready(n)
		}
	})

	ctx := s.startLoad(workers[0])

	for i, n := range planes[1:] {
		s.step(fmt.Sprintf("grows to %d", i+2), func() { s.join(n, planes[:i+2]) })
	}

	s.step("is known to talosctl", func() { s.known(planes) })
	s.step("loses the leader of etcd", func() { s.losesLeader(planes) })
	s.step("believes no liar", func() { s.lies() })

	if len(edits) > 0 {
		s.step("loses the machine with the virtual address", func() { s.losesHolder(planes, workers[0]) })
	}

	s.load.hold()
	s.step("boots cold", func() { s.boot(planes) })
	s.load.resume()
	s.step("resets a control plane, which joins again", func() { s.resets(planes[len(planes)-1], planes) })

	for i := len(planes) - 1; i > 0; i-- {
		s.step(fmt.Sprintf("shrinks to %d", i), func() { s.leave(planes[i], planes[:i]) })
	}

	if ctx.Err() != nil {
		t.Error("the clients ended before the test")
	}

	s.load.check(t)

	for _, late := range s.late {
		s.load.fails(t)("%s", late)
	}
}

// step runs a step that the later ones need.
func (s *scaled) step(name string, do func()) {
	s.Run(name, func(t *testing.T) {
		outer := s.t
		s.t = t

		defer func() { s.t = outer }()

		do()
	})
}

// startLoad starts two clients of the lab's load balancer and, where this computer can enter the network of the worker, two of its KubePrism.
func (s *scaled) startLoad(worker *lab.Node) context.Context {
	var ctx context.Context

	s.load, ctx = startLoad(s.t, s.Emulated())
	file := s.Lab.State().KubeconfigPath()

	for i := range 2 {
		s.load.add(ctx, fmt.Sprintf("balanced-%d", i+1), s.Lab.KubernetesEndpoint(), file, nil)
	}

	dial := insideOf(s.t, worker)
	if dial == nil {
		s.t.Log("no client of KubePrism: this computer cannot enter the network of the worker")

		return ctx
	}

	for i := range 2 {
		s.load.add(ctx, fmt.Sprintf("%s-%d", kubePrismClient, i+1), "127.0.0.1:7445", file, dial)
	}

	return ctx
}

// Until waits with more patience for emulated machines, which share this computer's cores.
func (s *scaled) Until(goal string, timeout time.Duration, try func(ctx context.Context) error) time.Duration {
	s.t.Helper()

	if s.Emulated() {
		timeout *= 4
	}

	return s.Cluster.Until(goal, timeout, try)
}

// ready waits until a node is Ready.
func (s *scaled) ready(n *lab.Node) {
	s.t.Helper()
	s.Until(n.Name+" is Ready", joinTime, func(ctx context.Context) error { return s.isReady(ctx, n) })
}

func (s *scaled) isReady(ctx context.Context, n *lab.Node) error {
	nodes, err := s.Nodes(ctx)
	if err != nil {
		return err
	}

	for _, node := range nodes {
		for _, a := range node.Status.Addresses {
			if a.Address == n.Addr.String() {
				return node.Ready()
			}
		}
	}

	return fmt.Errorf("there is no node %s", n.Addr)
}

// votes checks that exactly these machines have a member of etcd with a vote, as another machine sees it, and that there is no other member.
func (s *scaled) votes(ctx context.Context, by *lab.Node, want ...*lab.Node) error {
	return s.APIOf(ctx, by, func(ctx context.Context, api *client.Client) error {
		members, err := api.EtcdMembers(ctx, false)
		if err != nil {
			return err
		}

		var got, names []string

		for _, m := range members {
			switch {
			case m.GetIsLearner():
				return fmt.Errorf("%s is a learner", m.GetHostname())
			case m.GetHostname() == "":
				return fmt.Errorf("the member at %s has not started", m.GetPeerUrls())
			}

			got = append(got, m.GetHostname())
		}

		for _, n := range want {
			names = append(names, n.Name)
		}

		slices.Sort(got)
		slices.Sort(names)

		if !slices.Equal(got, names) {
			return fmt.Errorf("etcd has the members %v, want %v", got, names)
		}

		return nil
	})
}

// join powers a machine on, and waits until it is one of the control planes.
func (s *scaled) join(n *lab.Node, all []*lab.Node) {
	begin := time.Now()

	if err := n.PowerOn(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}

	var voted time.Duration

	s.Until(n.Name+" has a vote and is Ready", joinTime, func(ctx context.Context) error {
		if err := s.votes(ctx, all[0], all...); err != nil {
			return err
		}

		if voted == 0 {
			voted = time.Since(begin)
		}

		return s.isReady(ctx, n)
	})

	s.Measured(n.Name+": from power-on to a vote", voted)
	s.Measured(n.Name+": from power-on to a vote and Ready", time.Since(begin))

	s.Until("the API server of "+n.Name+" is published", joinTime, func(ctx context.Context) error { return s.published(ctx, n, true) })
	s.Measured(n.Name+": from power-on to its API server", time.Since(begin))
}

// published checks whether the Service kubernetes leads to the API server of a machine.
func (s *scaled) published(ctx context.Context, n *lab.Node, want bool) error {
	text, err := s.TryKubectl(ctx, "get", "endpointslices", "kubernetes", "-o", "jsonpath={.endpoints[*].addresses[*]}")
	if err != nil {
		return err
	}

	if got := slices.Contains(strings.Fields(text), n.Addr.String()); got != want {
		return fmt.Errorf("the Service kubernetes leads to %s: want %s among them: %t", text, n.Addr, want)
	}

	return nil
}

// known checks what talosctl says about the control planes.
func (s *scaled) known(planes []*lab.Node) {
	s.Until("talosctl lists the members of etcd", time.Minute, func(ctx context.Context) error {
		table, err := s.TalosctlCommand(ctx, "-n", planes[0].Addr.String(), "etcd", "members").CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, table)
		}

		for _, n := range planes {
			if !strings.Contains(string(table), n.Name) {
				return fmt.Errorf("%s is missing:\n%s", n.Name, table)
			}
		}

		return nil
	})

	s.Healthy()
}

// leader returns the machine whose member of etcd leads.
func (s *scaled) leader(planes []*lab.Node) *lab.Node {
	var leader *lab.Node

	s.Until("etcd has a leader", time.Minute, func(ctx context.Context) error {
		for _, n := range planes {
			err := s.APIOf(ctx, n, func(ctx context.Context, api *client.Client) error {
				status, err := api.EtcdStatus(ctx)
				if err == nil && status.GetLeader() == status.GetMemberId() {
					leader = n
				}

				return err
			})
			if err != nil {
				return err
			}
		}

		if leader == nil {
			return errors.New("none leads")
		}

		return nil
	})

	return leader
}

// losesLeader cuts the power of the leader of etcd, and has it back.
func (s *scaled) losesLeader(planes []*lab.Node) {
	leader := s.leader(planes)

	s.load.mark()

	s.load.down.Store(true)

	if err := leader.PowerCut(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}

	cut := time.Now()

	for name, took := range s.load.silences(s.t.Context()) {
		s.Measured(name+": from the power cut to an answer", took)

		if took > silence {
			s.late = append(s.late, fmt.Sprintf("client %s had no answer for %s after the power cut, want at most %s", name, took, silence))
		}
	}

	others := slices.DeleteFunc(slices.Clone(planes), func(n *lab.Node) bool { return n == leader })

	// The clients go on meanwhile: longer than any timeout that they could have met.
	s.Until("workloads are no longer sent to its API server", 2*time.Minute, func(ctx context.Context) error { return s.published(ctx, leader, false) })
	s.Measured("from the power cut to a Service kubernetes without it", time.Since(cut))

	for name, gap := range s.load.gaps() {
		s.Measured(name+": longest time without an answer, with its own timeouts", gap)
	}

	s.load.down.Store(false)

	for _, n := range others {
		if err := s.isReady(s.t.Context(), n); err != nil {
			s.t.Errorf("%s after the power cut of another: %v", n.Name, err)
		}
	}

	begin := time.Now()

	if err := leader.PowerOn(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}

	s.ready(leader)
	s.Until("the member of "+leader.Name+" is healthy", joinTime, func(ctx context.Context) error {
		return errors.Join(s.votes(ctx, leader, planes...), s.published(ctx, leader, true))
	})
	s.Measured(leader.Name+": from power-on to its return", time.Since(begin))
}

// resets wipes a machine of the cluster. It leaves etcd first, finds its configuration again on its platform, and joins with empty data.
func (s *scaled) resets(n *lab.Node, planes []*lab.Node) {
	begin := time.Now()
	rest := slices.DeleteFunc(slices.Clone(planes), func(other *lab.Node) bool { return other == n })

	before, err := s.memberID(s.t.Context(), n)
	if err != nil {
		s.t.Fatal(err)
	}

	// The lab's addresses are not this computer's, so the command cannot see that the machine is back.
	s.talosctl("-n", n.Addr.String(), "reset", "--system-labels-to-wipe", "STATE", "--system-labels-to-wipe", "EPHEMERAL", "--reboot", "--wait=false")

	// The command returns when the member has left.
	if err := s.votes(s.t.Context(), rest[0], rest...); err != nil {
		s.t.Errorf("%s is reset: %v", n.Name, err)
	}

	s.Until("the pods of "+n.Name+" have ended, and it has joined again", 2*joinTime, func(ctx context.Context) error {
		after, err := s.memberID(ctx, n)
		if err == nil && after == before {
			err = fmt.Errorf("it still has the member %s", after)
		}

		return errors.Join(err, s.votes(ctx, rest[0], planes...), s.isReady(ctx, n), s.published(ctx, n, true))
	})
	s.Measured(n.Name+": from its reset to its return", time.Since(begin))
}

// memberID returns the id of the member of a machine.
func (s *scaled) memberID(ctx context.Context, n *lab.Node) (id string, err error) {
	err = s.APIOf(ctx, n, func(ctx context.Context, api *client.Client) error {
		status, err := api.EtcdStatus(ctx)
		id = fmt.Sprintf("%016x", status.GetMemberId())

		return err
	})

	return id, err
}

// talosctl runs a command that must succeed.
func (s *scaled) talosctl(args ...string) {
	s.t.Helper()

	ctx, cancel := context.WithTimeout(s.t.Context(), 3*time.Minute)
	defer cancel()

	if out, err := s.TalosctlCommand(ctx, args...).CombinedOutput(); err != nil {
		s.t.Fatalf("talosctl %v: %v\n%s", args, err, out)
	}
}

// leave has a machine leave etcd: its pods of the control plane end.
func (s *scaled) leave(n *lab.Node, rest []*lab.Node) {
	begin := time.Now()

	s.Until(n.Name+" leaves", 2*time.Minute, func(ctx context.Context) error {
		return s.APIOf(ctx, n, func(ctx context.Context, api *client.Client) error { return api.EtcdLeave(ctx) })
	})
	s.Until("etcd has one member less", 2*time.Minute, func(ctx context.Context) error { return s.votes(ctx, rest[0], rest...) })
	s.Measured(n.Name+": left etcd", time.Since(begin))

	s.Until("the API server of "+n.Name+" ends", 2*time.Minute, func(ctx context.Context) error {
		pods, err := s.Pods(ctx, "kube-system", "tier=control-plane")
		if err != nil {
			return err
		}

		for _, p := range pods {
			if strings.HasSuffix(p.Metadata.Name, "-"+n.Name) {
				return fmt.Errorf("there is still the pod %s", p.Metadata.Name)
			}
		}

		return s.published(ctx, n, false)
	})
	s.Measured(n.Name+": its pods have ended", time.Since(begin))

	// It is a node still.
	if err := s.isReady(s.t.Context(), n); err != nil {
		s.t.Errorf("%s left etcd: %v", n.Name, err)
	}
}
