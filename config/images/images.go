// SPDX-License-Identifier: Apache-2.0

// Package images lists the container images that a node pulls, and the version of each program in them.
//
// Versions are written here and nowhere else. The defaults of the machine configuration, the bootstrap manifests
// and the build all use these constants. So the image cache has exactly the images that nodes pull.
//
// The package has no dependencies: clients, process 1 and the build can import it at no cost.
package images

// Versions of the programs that a node runs. A tag is the version, with the leading v that the registries use.
const (
	// KubernetesVersion is the version of the control plane, kubelet, kube-proxy and kubectl.
	KubernetesVersion = "v1.36.3"
	EtcdVersion       = "v3.6.16"
	CoreDNSVersion    = "v1.14.7"
	FlannelVersion    = "v0.28.4"
	// KubeNetworkPoliciesVersion is the version of the program that enforces NetworkPolicies beside flannel.
	KubeNetworkPoliciesVersion = "v0.8.0"
	// PauseVersion is the version of pause in the Kubernetes release above, and containerd's default.
	PauseVersion = "3.10.2"
	// AgnhostVersion is the version of agnhost in the Kubernetes release above.
	AgnhostVersion = "2.63.0"

	ContainerdVersion = "v2.4.2"
	RuncVersion       = "v1.5.2"
	CNIPluginsVersion = "v1.9.1"
	// FlannelCNIVersion is the last release of the CNI plugins that includes flannel's plugin.
	FlannelCNIVersion = "v0.9.1"
)

// Repositories, without a tag.
const (
	KubeAPIServer         = "registry.k8s.io/kube-apiserver"
	KubeControllerManager = "registry.k8s.io/kube-controller-manager"
	KubeScheduler         = "registry.k8s.io/kube-scheduler"
	KubeProxy             = "registry.k8s.io/kube-proxy"
	Kubelet               = "ghcr.io/seed-59268b81/kubelet"
	Etcd                  = "registry.k8s.io/etcd"
	CoreDNS               = "registry.k8s.io/coredns/coredns"
	Pause                 = "registry.k8s.io/pause"
	Flannel               = "ghcr.io/flannel-io/flannel"
	KubeNetworkPolicies   = "registry.k8s.io/networking/kube-network-policies"
	// Agnhost is Kubernetes' test workload: web server, DNS lookups, connection tests.
	Agnhost = "registry.k8s.io/e2e-test-images/agnhost"
)

// The full references in a new configuration.
const (
	DefaultKubeAPIServer         = KubeAPIServer + ":" + KubernetesVersion
	DefaultKubeControllerManager = KubeControllerManager + ":" + KubernetesVersion
	DefaultKubeScheduler         = KubeScheduler + ":" + KubernetesVersion
	DefaultKubeProxy             = KubeProxy + ":" + KubernetesVersion
	DefaultKubelet               = Kubelet + ":" + KubernetesVersion
	DefaultEtcd                  = Etcd + ":" + EtcdVersion
	DefaultCoreDNS               = CoreDNS + ":" + CoreDNSVersion
	DefaultPause                 = Pause + ":" + PauseVersion
	DefaultFlannel               = Flannel + ":" + FlannelVersion
	DefaultKubeNetworkPolicies   = KubeNetworkPolicies + ":" + KubeNetworkPoliciesVersion
	DefaultAgnhost               = Agnhost + ":" + AgnhostVersion
)

// Kubernetes returns the images whose tag is the Kubernetes version, in the order in which a node starts them. version has
// its leading v.
func Kubernetes(version string) []string {
	return []string{
		Kubelet + ":" + version,
		KubeAPIServer + ":" + version,
		KubeControllerManager + ":" + version,
		KubeScheduler + ":" + version,
		KubeProxy + ":" + version,
	}
}

// LayersDir is the folder of the image cache that has each layer as a file system.
const LayersDir = "layers"

// Node returns the images that a node with a default configuration pulls.
func Node() []string {
	return append([]string{DefaultPause, DefaultEtcd, DefaultCoreDNS, DefaultFlannel}, Kubernetes(KubernetesVersion)...)
}

// Cache returns the images in the image cache: those of a node, those that a setting adds, and the test workload.
func Cache() []string {
	return append(Node(), DefaultKubeNetworkPolicies, DefaultAgnhost)
}
