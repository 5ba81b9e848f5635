// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var bootstrapManifestsConfigDefinition = &resource.Definition{
	Type:             "BootstrapManifestsConfigs.kubernetes.talos.dev",
	DefaultNamespace: ControlPlaneNamespace,
}

// BootstrapManifestsConfigSpec is what the built-in manifests are rendered from.
type BootstrapManifestsConfigSpec struct {
	Server                            string         `yaml:"server" protobuf:"1"`
	ClusterDomain                     string         `yaml:"clusterDomain" protobuf:"2"`
	PodCIDRs                          []string       `yaml:"podCIDRs" protobuf:"3"`
	ProxyEnabled                      bool           `yaml:"proxyEnabled" protobuf:"4"`
	ProxyImage                        string         `yaml:"proxyImage" protobuf:"5"`
	ProxyArgs                         []string       `yaml:"proxyArgs" protobuf:"6"`
	CoreDNSEnabled                    bool           `yaml:"coreDNSEnabled" protobuf:"7"`
	CoreDNSImage                      string         `yaml:"coreDNSImage" protobuf:"8"`
	DNSServiceIP                      string         `yaml:"dnsServiceIP" protobuf:"9"`
	DNSServiceIPv6                    string         `yaml:"dnsServiceIPv6" protobuf:"10"`
	FlannelEnabled                    bool           `yaml:"flannelEnabled" protobuf:"11"`
	FlannelImage                      string         `yaml:"flannelImage" protobuf:"12"`
	PodSecurityPolicyEnabled          bool           `yaml:"podSecurityPolicyEnabled" protobuf:"14"`
	TalosAPIServiceEnabled            bool           `yaml:"talosAPIServiceEnabled" protobuf:"15"`
	FlannelExtraArgs                  []string       `yaml:"flannelExtraArgs" protobuf:"16"`
	FlannelKubeServiceHost            string         `yaml:"flannelKubeServiceHost" protobuf:"17"`
	FlannelKubeServicePort            string         `yaml:"flannelKubeServicePort" protobuf:"18"`
	FlannelKubeNetworkPoliciesEnabled bool           `yaml:"flannelKubeNetworkPoliciesEnabled" protobuf:"19"`
	FlannelKubeNetworkPoliciesImage   string         `yaml:"flannelKubeNetworkPoliciesImage" protobuf:"20"`
	CNIName                           string         `yaml:"cniName" protobuf:"21"`
	FlannelBackendMTU                 uint32         `yaml:"flannelBackendMTU" protobuf:"22"`
	FlannelBackendType                string         `yaml:"flannelBackendType" protobuf:"23"`
	FlannelBackendPort                uint32         `yaml:"flannelBackendPort" protobuf:"24"`
	FlannelResources                  Resources      `yaml:"flannelResources" protobuf:"25"`
	FlannelBackendExtraConfig         map[string]any `yaml:"flannelBackendExtraConfig,omitempty" protobuf:"26"`
	ProxyConfig                       map[string]any `yaml:"proxyConfig,omitempty" protobuf:"27"`
	ProxyResources                    Resources      `yaml:"proxyResources" protobuf:"28"`
	ProxyConfigChecksum               string         `yaml:"proxyConfigChecksum" protobuf:"29"`
}

// Definition implements resource.Spec.
func (BootstrapManifestsConfigSpec) Definition() *resource.Definition {
	return bootstrapManifestsConfigDefinition
}
