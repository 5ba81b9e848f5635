// SPDX-License-Identifier: Apache-2.0

package health_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/health"
	"github.com/seed-59268b81/talos/resources/block"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/runtime"
	serviceres "github.com/seed-59268b81/talos/resources/service"
)

// cluster is a healthy cluster of one node, as plain values that a test changes.
type cluster struct {
	t *testing.T

	health.Source
	state *memory.State

	members map[string][]health.Member // by endpoint
	nodes   []health.Node
	pods    map[string][]health.Pod
	work    map[string]*health.Workload
	err     error
	memory  uint64
}

func (c *cluster) Members(_ context.Context, endpoint string) ([]health.Member, error) {
	return c.members[endpoint], c.err
}

func (c *cluster) Nodes(context.Context) ([]health.Node, error) { return slices.Clone(c.nodes), c.err }

func (c *cluster) Pods(_ context.Context, app string) ([]health.Pod, error) {
	return c.pods[app], c.err
}

func (c *cluster) Workload(_ context.Context, kind, name string) (*health.Workload, error) {
	return c.work[kind+"/"+name], c.err
}

// set writes a resource.
func set[S resource.Spec](c *cluster, id string, spec S) {
	c.t.Helper()

	if err := typed.Set(c.t.Context(), c.state, "", id, spec); err != nil {
		c.t.Fatal(err)
	}
}

func drop[S resource.Spec](c *cluster, id string) {
	c.t.Helper()

	if err := c.state.Destroy(c.t.Context(), resource.PointerOf[S]("", id)); err != nil {
		c.t.Fatal(err)
	}
}

// configure sets the machine's configuration.
func (c *cluster) configure(text string) {
	c.t.Helper()

	cfg, err := config.Decode([]byte("version: v1alpha1\n" + text + "\n"))
	if err != nil {
		c.t.Fatal(err)
	}

	set(c, configres.ActiveID, configres.NewMachineConfigSpec(cfg))
}

func newCluster(t *testing.T) *cluster {
	member := health.Member{ID: 1, Name: "cp-1", PeerURLs: []string{"https://10.5.0.2:2380"}, ClientURLs: []string{"https://10.5.0.2:2379"}}
	c := &cluster{
		t: t, state: memory.New(), memory: 4 << 30,
		members: map[string][]health.Member{"": {member}, member.ClientURLs[0]: {member}},
		nodes:   []health.Node{{Name: "cp-1", Addresses: []string{"10.5.0.2", "cp-1"}, ControlPlane: true, Ready: true}},
		pods:    map[string][]health.Pod{},
		work: map[string]*health.Workload{
			"daemonsets/kube-proxy": {Wanted: 1, Ready: 1}, "deployments/coredns": {Wanted: 2, Ready: 2},
		},
	}
	c.Source = health.Source{Etcd: c, Kubernetes: c, Machines: []health.Machine{{
		ControlPlane: true, State: c.state, Memory: func(context.Context) (uint64, error) { return c.memory, c.err },
	}}}

	for _, id := range []string{"etcd", "apid", "kubelet"} {
		set(c, id, serviceres.ServiceSpec{Running: true, Healthy: true})
	}

	c.configure("cluster: {}")
	set(c, block.SystemDiskID, block.SystemDiskSpec{DiskID: "vda"})
	set(c, "vda", block.DiskSpec{Size: 10 << 30})
	set(c, runtime.MachineStatusID, runtime.MachineStatusSpec{Stage: runtime.StageRunning})
	set(c, k8s.NodenameID, k8s.NodenameSpec{Nodename: "cp-1"})

	for _, app := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		set(c, app, k8s.StaticPodSpec{Pod: map[string]any{"metadata": map[string]any{"name": app, "namespace": "kube-system"}}})
		set(c, "kube-system/"+app+"-cp-1", k8s.StaticPodStatusSpec{PodStatus: map[string]any{"phase": "Running"}})
		c.pods[app] = []health.Pod{{Name: app + "-cp-1", Node: "cp-1", Phase: "Running", Ready: true}}
	}

	return c
}

func TestChecks(t *testing.T) {
	const apiserver = "kube-system/kube-apiserver-cp-1"

	worker := health.Node{Name: "w-1", Addresses: []string{"10.5.0.3"}, Ready: true}

	tests := []struct {
		name  string
		spoil func(*cluster)
		// check is the one that fails, want a part of its error; the others pass. Empty: all pass.
		check, want string
	}{
		{"a healthy node", func(*cluster) {}, "", ""},
		{"a healthy cluster with a worker", func(c *cluster) {
			c.nodes = append(c.nodes, worker)
			c.ControlPlaneNodes, c.WorkerNodes = []string{"10.5.0.2"}, []string{"10.5.0.3"}
		}, "", ""},

		{"etcd not there", func(c *cluster) { drop[serviceres.ServiceSpec](c, "etcd") }, "etcd to be healthy", "service etcd is not there yet"},
		{"etcd stopped", func(c *cluster) { set(c, "etcd", serviceres.ServiceSpec{}) }, "etcd to be healthy", "not running"},
		{"etcd is unhealthy", func(c *cluster) { set(c, "etcd", serviceres.ServiceSpec{Running: true}) }, "etcd to be healthy", "running but not healthy"},
		{"etcd without a check is up", func(c *cluster) { set(c, "etcd", serviceres.ServiceSpec{Running: true, Unknown: true}) }, "", ""},
		{"members disagree", func(c *cluster) {
			c.members["https://10.5.0.2:2379"] = append(slices.Clone(c.members[""]), health.Member{Name: "gone"})
		}, "etcd members to be consistent across nodes", "etcd member cp-1 knows the members [cp-1 gone], this node knows [cp-1]"},
		{"a learner", func(c *cluster) { c.members[""][0].Learner = true }, "etcd members to be consistent across nodes", "still a learner"},
		{"a member that has not started", func(c *cluster) { c.members[""][0].ClientURLs = nil }, "etcd members to be consistent across nodes", "not started"},
		{"a member elsewhere", func(c *cluster) {
			c.members[""][0].PeerURLs = []string{"https://10.5.0.9:2380"}
		}, "etcd members to be control plane nodes", "etcd member cp-1 (https://10.5.0.9:2380) is not on a control plane node"},
		{"a control plane node without a member", func(c *cluster) {
			c.ControlPlaneNodes = []string{"10.5.0.2", "10.5.0.4"}
			c.nodes = append(c.nodes, health.Node{Name: "cp-2", Addresses: []string{"10.5.0.4"}, Ready: true})
		}, "etcd members to be control plane nodes", "control plane node 10.5.0.4 has no etcd member"},

		{"apid down", func(c *cluster) { set(c, "apid", serviceres.ServiceSpec{}) }, "apid to be ready", "service apid is not running"},
		{"little memory", func(c *cluster) { c.memory = 1 << 30 }, "all nodes memory sizes", "1024 MiB of memory"},
		{"memory less the kernel's part", func(c *cluster) { c.memory = 1900 << 20 }, "", ""},
		{"a small disk", func(c *cluster) { set(c, "vda", block.DiskSpec{Size: 1 << 30}) }, "all nodes disk sizes", "system disk vda has 1024 MiB"},
		{"no disk", func(c *cluster) { drop[block.SystemDiskSpec](c, block.SystemDiskID) }, "all nodes disk sizes", "not known yet"},
		{"a container", func(c *cluster) {
			drop[block.SystemDiskSpec](c, block.SystemDiskID)
			set(c, runtime.PlatformDisks, runtime.PlatformConditionSpec{})
		}, "", ""},
		{"kubelet is unhealthy", func(c *cluster) { set(c, "kubelet", serviceres.ServiceSpec{Running: true}) }, "kubelet to be healthy", "service kubelet"},
		{"booting", func(c *cluster) {
			set(c, runtime.MachineStatusID, runtime.MachineStatusSpec{Stage: runtime.StageBooting, Status: runtime.MachineStatusStatus{
				UnmetConditions: []runtime.UnmetCondition{{Name: "time", Reason: "time is not synced"}},
			}})
		}, "all nodes to finish boot sequence", "the machine is booting (time: time is not synced)"},

		{"node not registered", func(c *cluster) {
			c.nodes[0].Name = "other"
			c.pods = map[string][]health.Pod{}

			for _, app := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
				c.pods[app] = []health.Pod{{Node: "other", Ready: true}}
			}
		}, "all k8s nodes to report", "missing nodes: cp-1"},
		{"worker missing", func(c *cluster) { c.WorkerNodes = []string{"10.5.0.3"} }, "all k8s nodes to report", "missing nodes: 10.5.0.3"},
		{"static pod crashed", func(c *cluster) {
			set(c, apiserver, k8s.StaticPodStatusSpec{PodStatus: map[string]any{"phase": "Failed"}})
		}, "all control plane static pods to be running", "static pod kube-system/kube-apiserver is Failed"},
		{"static pod unknown", func(c *cluster) { drop[k8s.StaticPodStatusSpec](c, apiserver) }, "all control plane static pods to be running", "kube-apiserver has not been reported"},
		{"nothing rendered", func(c *cluster) {
			for _, app := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
				drop[k8s.StaticPodSpec](c, app)
			}
		}, "all control plane static pods to be running", "no static pods are rendered yet"},
		{"a component is not ready", func(c *cluster) { c.pods["kube-scheduler"][0].Ready = false }, "all control plane components to be ready", "pod kube-scheduler-cp-1 is not ready (Running)"},
		{"a component missing", func(c *cluster) { c.pods["kube-scheduler"] = nil }, "all control plane components to be ready", "node cp-1 has no pod of kube-scheduler"},
		{"a worker runs no component", func(c *cluster) { c.nodes = append(c.nodes, worker) }, "", ""},
		{"node not ready", func(c *cluster) {
			c.nodes[0].Ready, c.nodes[0].Reason = false, "cni plugin not initialized"
		}, "all k8s nodes to report ready", "node cp-1 is not ready: cni plugin not initialized"},
		{"no kube-proxy", func(c *cluster) { delete(c.work, "daemonsets/kube-proxy") }, "kube-proxy to report ready", "kube-proxy is not deployed yet"},
		{"kube-proxy disabled", func(c *cluster) {
			delete(c.work, "daemonsets/kube-proxy")
			c.configure("cluster: {proxy: {disabled: true}}")
		}, "kube-proxy to report ready", health.ErrSkip.Error()},
		{"half of coredns", func(c *cluster) { c.work["deployments/coredns"].Ready = 1 }, "coredns to report ready", "coredns: 1 of 2 pods are ready"},
		{"coredns wants no pods", func(c *cluster) { *c.work["deployments/coredns"] = health.Workload{} }, "coredns to report ready", "0 of 0"},
		{"cordoned", func(c *cluster) { c.nodes[0].Unschedulable = true }, "all k8s nodes to report schedulable", "node cp-1 is cordoned"},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t)
			tt.spoil(c)

			failed := ""

			for _, check := range c.Checks() {
				err := check.Run(t.Context())

				switch {
				case err == nil:
				case check.Name != tt.check:
					t.Errorf("check %q: got %v, want it to pass", check.Name, err)
				case !strings.Contains(err.Error(), tt.want):
					t.Errorf("check %q: got %q, want it to contain %q", check.Name, err, tt.want)
				}

				if err != nil {
					failed = check.Name
				}
			}

			if tt.check != "" && failed == "" {
				t.Errorf("all checks passed, want %q to fail", tt.check)
			}
		})
	}
}

// TestChecksOfMachines also runs the checks of a worker, which are fewer.
func TestChecksOfMachines(t *testing.T) {
	for _, tt := range []struct {
		name        string
		memory      uint64
		spoil       func(*cluster)
		check, want string
	}{
		{"healthy", 1 << 30, func(*cluster) {}, "", ""},
		{"small", 1 << 29, func(*cluster) {}, "all nodes memory sizes", "10.5.0.3: the machine has 512 MiB of memory, a worker needs 1024 MiB"},
		{"kubelet down", 1 << 30, func(w *cluster) { set(w, "kubelet", serviceres.ServiceSpec{}) }, "kubelet to be healthy", "10.5.0.3: service kubelet is not running"},
		{"unknown to Kubernetes", 1 << 30, func(w *cluster) { set(w, k8s.NodenameID, k8s.NodenameSpec{Nodename: "w-2"}) }, "all k8s nodes to report", "missing nodes: w-2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, w := newCluster(t), &cluster{t: t, state: memory.New()}

			for _, id := range []string{"apid", "kubelet"} {
				set(w, id, serviceres.ServiceSpec{Running: true, Healthy: true})
			}

			set(w, block.SystemDiskID, block.SystemDiskSpec{DiskID: "vda"})
			set(w, "vda", block.DiskSpec{Size: 10 << 30})
			set(w, runtime.MachineStatusID, runtime.MachineStatusSpec{Stage: runtime.StageRunning})
			set(w, k8s.NodenameID, k8s.NodenameSpec{Nodename: "w-1"})
			tt.spoil(w)

			c.nodes = append(c.nodes, health.Node{Name: "w-1", Addresses: []string{"10.5.0.3"}, Ready: true})
			c.Machines[0].Name = "10.5.0.2"
			c.Machines = append(c.Machines, health.Machine{
				Name: "10.5.0.3", State: w.state, Memory: func(context.Context) (uint64, error) { return tt.memory, nil },
			})

			for _, check := range c.Checks() {
				got := ""
				if err := check.Run(t.Context()); err != nil {
					got = err.Error()
				}

				want := ""
				if check.Name == tt.check {
					want = tt.want
				}

				if got != want {
					t.Errorf("check %q: got %q, want %q", check.Name, got, want)
				}
			}
		})
	}
}

// TestChecksReportErrors checks that, when every source fails, no check passes, and each reports the cause.
func TestChecksReportErrors(t *testing.T) {
	c := newCluster(t)
	c.err = errors.New("out of reach")

	local := []string{
		"etcd to be healthy", "apid to be ready", "all nodes disk sizes", "kubelet to be healthy",
		"all nodes to finish boot sequence", "all control plane static pods to be running",
	}

	for _, check := range c.Checks() {
		if slices.Contains(local, check.Name) {
			continue
		}

		if err := check.Run(t.Context()); !errors.Is(err, c.err) {
			t.Errorf("check %q: got %v, want %v", check.Name, err, c.err)
		}
	}
}
