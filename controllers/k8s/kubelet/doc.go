// SPDX-License-Identifier: Apache-2.0

// Package kubelet decides how the kubelet runs: its command line, its KubeletConfiguration and its first kubeconfig.
// It is pure.
package kubelet

import (
	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/layout"
)

// Where the kubelet's files are, on the node and in its container alike.
const (
	ConfigFile              = "/etc/kubernetes/kubelet.yaml"
	BootstrapKubeconfigFile = "/etc/kubernetes/bootstrap-kubeconfig"
	KubeconfigFile          = "/etc/kubernetes/kubeconfig-kubelet"
	CAFile                  = "/etc/kubernetes/pki/ca.crt"
	// StaticPodsDir has the system's static pods, ManifestsDir these and those of users.
	StaticPodsDir = "/etc/kubernetes/static-pods"
	ManifestsDir  = "/etc/kubernetes/manifests"
	PKIDir        = layout.KubeletPKIDir
	Dir           = layout.KubeletDir
	SeccompDir    = layout.SeccompProfilesDir
	ResolvConf    = layout.ResolvConf

	credentialProviderConfig = "/etc/kubernetes/credentialprovider.yaml"
	// CredentialProviderDir is where the kubelet looks for programs that provide credentials for registries.
	CredentialProviderDir = "/usr/local/lib/kubelet/credentialproviders"

	// Port of the kubelet's API, and of its health on loopback.
	Port        = contract.KubeletPort
	HealthzPort = 10248
)

// Cgroups of the machine.
const (
	systemCgroups  = "/system"
	kubeletCgroups = "/podruntime/kubelet"
)
