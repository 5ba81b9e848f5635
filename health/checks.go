// SPDX-License-Identifier: Apache-2.0

package health

import "github.com/seed-59268b81/talos/config/view"

// Source is what the checks read.
type Source struct {
	// Machines are those whose own state is checked: all of the cluster, or the control plane node that runs the checks. One of them is a
	// control plane node.
	Machines   []Machine
	Etcd       Etcd
	Kubernetes Kubernetes

	// ControlPlaneNodes and WorkerNodes are the addresses that the caller expects; if empty, those that Kubernetes knows, and each member of the
	// cluster must be among them.
	ControlPlaneNodes, WorkerNodes []string
}

// Checks returns the checks of a cluster, in the order in which a cluster starts.
func (s *Source) Checks() []Check {
	const (
		services = "see: talosctl services, talosctl logs "
		pods     = "see: kubectl -n kube-system get pods"
		nodes    = "see: kubectl describe nodes"
	)

	return []Check{
		{"etcd to be healthy", services + "etcd (a new cluster starts with: talosctl bootstrap)", s.onControlPlanes(service("etcd"))},
		{"etcd members to be consistent across nodes", services + "etcd", s.etcdConsistent},
		{"etcd members to be control plane nodes", nodes, s.etcdOnControlPlanes},
		{"apid to be ready", services + "apid", s.onAll(service("apid"))},
		{"all nodes memory sizes", "give the machine more memory", s.onAll(memorySize)},
		{"all nodes disk sizes", "give the machine a larger disk", s.onAll(diskSize)},
		{"kubelet to be healthy", services + "kubelet", s.onAll(service("kubelet"))},
		{"all nodes to finish boot sequence", "see: talosctl get machinestatus -o yaml", s.onAll(bootFinished)},
		{"all k8s nodes to report", services + "kubelet", s.nodesReported},
		{"all control plane static pods to be running", "see: talosctl get staticpodstatus", s.onControlPlanes(staticPodsRunning)},
		{"all control plane components to be ready", pods, s.componentsReady},
		{"all k8s nodes to report ready", nodes, s.nodesReady},
		{"kube-proxy to report ready", pods, s.workload("daemonsets", "kube-proxy", proxyDisabled)},
		{"coredns to report ready", pods, s.workload("deployments", "coredns", dnsDisabled)},
		{"all k8s nodes to report schedulable", nodes, s.nodesSchedulable},
	}
}

func proxyDisabled(c *view.Config) bool { return view.IsTrue(c.Proxy().Disabled) }

func dnsDisabled(c *view.Config) bool { return view.IsTrue(c.CoreDNS().Disabled) }
