// SPDX-License-Identifier: Apache-2.0

// Package images names every container image that a node may pull, and the version of each program behind it.
//
// It is the one place where a version is written. The defaults of the machine configuration, the bootstrap
// manifests and the components builder all read it, so the image cache that is built is by construction the one
// that is pulled from: a name that is not here is never asked for, and a name that is here is always built.
//
// The package has no dependencies, and so costs nothing to import from a client, from PID 1 or from a builder.
package images

// Versions of the programs that a node runs. A tag is the version, with the leading v that the registries use.
const (
	// KubernetesVersion is the version of the control plane, kubelet, kube-proxy and kubectl.
	KubernetesVersion = "v1.36.3"
	EtcdVersion       = "v3.6.16"
	CoreDNSVersion    = "v1.14.7"
	FlannelVersion    = "v0.28.4"
	// PauseVersion is that of the pause program inside the Kubernetes release above, and containerd's default.
	PauseVersion = "3.10.2"
	// AgnhostVersion is that of the test program inside the Kubernetes release above.
	AgnhostVersion = "2.63.0"

	ContainerdVersion = "v2.4.2"
	RuncVersion       = "v1.5.2"
	CNIPluginsVersion = "v1.9.1"
	// FlannelCNIVersion is the last release of the CNI plugins that has flannel's own plugin among them.
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
	// Agnhost is Kubernetes' own test workload: web server, DNS look-ups, connection tests.
	Agnhost = "registry.k8s.io/e2e-test-images/agnhost"
)

// The full references that a new configuration has.
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
	DefaultAgnhost               = Agnhost + ":" + AgnhostVersion
)

// Kubernetes returns the references of the images that carry the Kubernetes version, which is given with its leading
// v: control plane, kube-proxy and kubelet, in the order in which a node starts them.
func Kubernetes(version string) []string {
	return []string{
		Kubelet + ":" + version,
		KubeAPIServer + ":" + version,
		KubeControllerManager + ":" + version,
		KubeScheduler + ":" + version,
		KubeProxy + ":" + version,
	}
}

// LayersDir is the folder of the image cache in which each layer is a file system too.
const LayersDir = "layers"

// Node returns every reference that a node with a default configuration pulls.
func Node() []string {
	return append([]string{DefaultPause, DefaultEtcd, DefaultCoreDNS, DefaultFlannel}, Kubernetes(KubernetesVersion)...)
}

// Cache returns every reference that the image cache carries: those of a node, and the test workload.
func Cache() []string {
	return append(Node(), DefaultAgnhost)
}
