// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"maps"
	"slices"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// KubeFlannelCNIConfig has flannel connect the pods. A cluster without this document has the network that its owner installs, if its
// configuration has a KubeClusterConfig.
type KubeFlannelCNIConfig struct {
	document.Header `yaml:",inline"`
	// How packets between nodes are carried; vxlan without it.
	BackendType FlannelBackend `yaml:"backendType,omitempty"`
	// The UDP port of vxlan; 4789 without it.
	BackendPort int `yaml:"backendPort,omitempty" range:"1,65535"`
	// The largest packet of pods, in bytes; as large as the backend allows without it.
	BackendMTU int `yaml:"backendMTU,omitempty" range:"576,65535"`
	// More settings of the backend, as flannel documents them.
	BackendExtraConfig v1alpha1.Object `yaml:"backendExtraConfig,omitempty"`
	// CPU and memory that the pods request and are limited to, as Kubernetes writes them.
	Resources v1alpha1.Resources `yaml:"resources,omitempty"`
	// Flags of flanneld, with their dashes.
	ExtraArgs []string `yaml:"extraArgs,omitempty" maps:"cluster.network.cni.flannel.extraArgs"`
	// Whether NetworkPolicies are enforced.
	KubeNetworkPoliciesEnabled *bool `yaml:"kubeNetworkPoliciesEnabled,omitempty" protects:"true" maps:"cluster.network.cni.flannel.kubeNetworkPoliciesEnabled"`
}

// FlannelBackend is how flannel carries packets between nodes.
type FlannelBackend string

// The backends.
const (
	FlannelVXLAN  FlannelBackend = "vxlan"
	FlannelHostGW FlannelBackend = "host-gw"
)

// Values implements document.Enum.
func (FlannelBackend) Values() []string { return document.EnumOf(FlannelVXLAN, FlannelHostGW) }

var flannel = document.Of[KubeFlannelCNIConfig]("KubeFlannelCNIConfig", `apiVersion: v1alpha1
kind: KubeFlannelCNIConfig
backendType: vxlan
backendPort: 4789
`, document.ControlPlane, document.Replaces("cluster.network.cni"))

// flannelKeys are the settings of a backend that have a key of their own.
var flannelKeys = map[string]string{"Type": "backendType", "Port": "backendPort", "MTU": "backendMTU"}

// Validate implements document.Validator.
func (c *KubeFlannelCNIConfig) Validate(r *document.Report) {
	for _, name := range slices.Sorted(maps.Keys(flannelKeys)) {
		if _, twice := c.BackendExtraConfig[name]; twice {
			r.Wrong("backendExtraConfig."+name, "the key %s sets this: use it instead", flannelKeys[name])
		}
	}
}

// Overlay implements overlay.Overlayer: the document chooses the network.
func (*KubeFlannelCNIConfig) Overlay(main *v1alpha1.Config) {
	main.Cluster.Network.CNI.Name = "flannel"
}
