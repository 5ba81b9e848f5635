// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"net/netip"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/config/value"
)

// KubeletConfig sets up the kubelet.
type KubeletConfig struct {
	document.Header `yaml:",inline"`
	// The image; the release's own without it.
	Image value.Image `yaml:"image,omitempty" maps:"machine.kubelet.image"`
	// A KubeletConfiguration, as Kubernetes documents it, without apiVersion and kind.
	Config v1alpha1.Object `yaml:"config,omitempty" maps:"machine.kubelet.extraConfig"`
	// Flags, by their names without dashes. A flag with a list of values is repeated.
	ExtraArgs v1alpha1.ExtraArgs `yaml:"extraArgs,omitempty" maps:"machine.kubelet.extraArgs"`
	// The DNS servers of pods; that of the cluster without any.
	ClusterDNS []netip.Addr `yaml:"clusterDNS,omitempty" maps:"machine.kubelet.clusterDNS"`
	// Whether containers have the runtime's seccomp profile unless they name another; they do without this key.
	DefaultRuntimeSeccompProfileEnabled *bool `yaml:"defaultRuntimeSeccompProfileEnabled,omitempty" maps:"machine.kubelet.defaultRuntimeSeccompProfileEnabled"`
}

var kubelet = document.Of[KubeletConfig]("KubeletConfig", `apiVersion: v1alpha1
kind: KubeletConfig
config:
    maxPods: 200
`)

// KubeNodeConfig says how the machine is registered as a Node.
type KubeNodeConfig struct {
	document.Header `yaml:",inline"`
	// Whether the kubelet does not register the Node.
	SkipNodeRegistration *bool `yaml:"skipNodeRegistration,omitempty" maps:"machine.kubelet.skipNodeRegistration"`
	// Whether the name of the Node has the domain in it.
	RegisterWithFQDN *bool `yaml:"registerWithFQDN,omitempty" maps:"machine.kubelet.registerWithFQDN"`
	// The addresses of the Node.
	NodeIP NodeIP `yaml:"nodeIP,omitempty"`
	// Labels of the Node.
	Labels map[string]string `yaml:"labels,omitempty" maps:"machine.nodeLabels"`
	// Annotations of the Node.
	Annotations map[string]string `yaml:"annotations,omitempty" maps:"machine.nodeAnnotations"`
	// Taints of the Node: VALUE:EFFECT, or EFFECT, by their keys. A control plane keeps ordinary pods away by the taint
	// node-role.kubernetes.io/control-plane: a document without it lets them run there.
	Taints map[string]string `yaml:"taints,omitempty" maps:"machine.nodeTaints"`
}

// NodeIP chooses the addresses of a Node.
type NodeIP struct {
	// Networks that the addresses are in; with ! in front those that they are not in.
	ValidSubnets []string `yaml:"validSubnets,omitempty" maps:"machine.kubelet.nodeIP.validSubnets"`
}

var node = document.Of[KubeNodeConfig]("KubeNodeConfig", `apiVersion: v1alpha1
kind: KubeNodeConfig
nodeIP:
    validSubnets:
        - 192.0.2.0/24
labels:
    topology.kubernetes.io/zone: a
taints:
    dedicated: storage:NoSchedule
`)

// controlPlaneTaint keeps ordinary pods off control planes.
const controlPlaneTaint = "node-role.kubernetes.io/control-plane"

// Overlay implements overlay.Overlayer: a control plane without the taint of its own lets ordinary pods run, unless a key says otherwise.
func (c *KubeNodeConfig) Overlay(main *v1alpha1.Config) {
	cluster := &main.Cluster
	said := cluster.AllowSchedulingOnControlPlanes != nil || cluster.AllowSchedulingOnMasters != nil

	if _, tainted := c.Taints[controlPlaneTaint]; !tainted && !said && main.Machine.Type.IsControlPlane() {
		cluster.AllowSchedulingOnControlPlanes = new(true)
	}
}

// Validate implements document.Validator.
func (c *KubeNodeConfig) Validate(r *document.Report) {
	value.CheckSubnets(c.NodeIP.ValidSubnets, func(i int, problem string) {
		r.Wrong("nodeIP.validSubnets", "element %d: %s", i+1, problem)
	})

	value.CheckLabels(c.Labels, func(key, problem string) { r.Wrong("labels."+key, "%s", problem) })
	value.CheckLabelKeys(c.Annotations, func(key, problem string) { r.Wrong("annotations."+key, "%s", problem) })
	value.CheckTaints(c.Taints, func(key, problem string) { r.Wrong("taints."+key, "%s", problem) })
}

// KubeCredentialProviderConfig has the kubelet ask programs for the credentials of registries. The image has no such programs: a folder with them is
// mounted by machine.kubelet.extraMounts, at /usr/local/lib/kubelet/credentialproviders.
type KubeCredentialProviderConfig struct {
	document.Header `yaml:",inline"`
	// A CredentialProviderConfig, as Kubernetes documents it.
	Configuration v1alpha1.Object `yaml:"configuration" required:"true" merge:"replace" maps:"machine.kubelet.credentialProviderConfig"`
}

var credentialProvider = document.Of[KubeCredentialProviderConfig]("KubeCredentialProviderConfig", `apiVersion: v1alpha1
kind: KubeCredentialProviderConfig
configuration:
    apiVersion: kubelet.config.k8s.io/v1
    kind: CredentialProviderConfig
    providers:
        - name: ecr-credential-provider
          matchImages:
            - "*.dkr.ecr.*.amazonaws.com"
          defaultCacheDuration: 12h
          apiVersion: credentialprovider.kubelet.k8s.io/v1
`)
