// SPDX-License-Identifier: Apache-2.0

// Package kubelet decides how the kubelet runs: its command line, its KubeletConfiguration and its first kubeconfig.
// It is pure.
package kubelet

// Where the kubelet's files are, on the node and in its container alike.
const (
	ConfigFile              = "/etc/kubernetes/kubelet.yaml"
	BootstrapKubeconfigFile = "/etc/kubernetes/bootstrap-kubeconfig"
	KubeconfigFile          = "/etc/kubernetes/kubeconfig-kubelet"
	CAFile                  = "/etc/kubernetes/pki/ca.crt"
	// StaticPodsDir has the system's static pods, and ManifestsDir these and those of others.
	StaticPodsDir = "/etc/kubernetes/static-pods"
	ManifestsDir  = "/etc/kubernetes/manifests"
	PKIDir        = "/var/lib/kubelet/pki"
	Dir           = "/var/lib/kubelet"
	SeccompDir    = "/var/lib/kubelet/seccomp/profiles"
	ResolvConf    = "/system/resolved/resolv.conf"

	credentialProviderConfig = "/etc/kubernetes/credentialprovider.yaml"
	// CredentialProviderDir is where the kubelet looks for programs that give credentials of registries.
	CredentialProviderDir = "/usr/local/lib/kubelet/credentialproviders"

	// Port of the kubelet's API, and of its health on loopback.
	Port        = 10250
	HealthzPort = 10248
)

// Cgroups, as the tree of the machine has them.
const (
	systemCgroups  = "/system"
	kubeletCgroups = "/podruntime/kubelet"
)
