// SPDX-License-Identifier: Apache-2.0

package health

// Source is what the checks look at.
type Source struct {
	State      Reader
	Etcd       Etcd
	Kubernetes Kubernetes
	// Memory is the machine's, in bytes.
	Memory func() (uint64, error)

	// ControlPlaneNodes and WorkerNodes are addresses that the caller expects; empty means those that Kubernetes knows.
	ControlPlaneNodes, WorkerNodes []string
	// ProxyDisabled and DNSDisabled by the configuration.
	ProxyDisabled, DNSDisabled bool
}

// Checks are those of a control plane node, in the order in which a cluster comes up.
func (s *Source) Checks() []Check {
	const (
		services = "see: talosctl services, talosctl logs "
		pods     = "see: kubectl -n kube-system get pods"
		nodes    = "see: kubectl describe nodes"
	)

	return []Check{
		{"etcd to be healthy", services + "etcd (a new cluster starts with: talosctl bootstrap)", s.service("etcd")},
		{"etcd members to be consistent across nodes", services + "etcd", s.etcdConsistent},
		{"etcd members to be control plane nodes", nodes, s.etcdOnControlPlanes},
		{"apid to be ready", services + "apid", s.service("apid")},
		{"all nodes memory sizes", "give the machine more memory", s.memorySize},
		{"all nodes disk sizes", "give the machine a larger disk", s.diskSize},
		{"kubelet to be healthy", services + "kubelet", s.service("kubelet")},
		{"all nodes to finish boot sequence", "see: talosctl get machinestatus -o yaml", s.bootFinished},
		{"all k8s nodes to report", services + "kubelet", s.nodesReported},
		{"all control plane static pods to be running", "see: talosctl get staticpodstatus", s.staticPodsRunning},
		{"all control plane components to be ready", pods, s.componentsReady},
		{"all k8s nodes to report ready", nodes, s.nodesReady},
		{"kube-proxy to report ready", pods, s.workload("daemonsets", "kube-proxy", s.ProxyDisabled)},
		{"coredns to report ready", pods, s.workload("deployments", "coredns", s.DNSDisabled)},
		{"all k8s nodes to report schedulable", nodes, s.nodesSchedulable},
	}
}
