// SPDX-License-Identifier: Apache-2.0

package k8s

import "github.com/seed-59268b81/talos/cosi/resource"

var bootstrapManifestsConfigDefinition = controlPlane.Type("BootstrapManifestsConfigs")

// BootstrapManifestsConfigSpec is the settings of the built-in manifests.
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

var extraManifestsConfigDefinition = controlPlane.Sensitive().Type("ExtraManifestsConfigs")

// ExtraManifestsConfigSpec is the remote and inline manifests of the machine configuration.
type ExtraManifestsConfigSpec struct {
	ExtraManifests []ExtraManifest `yaml:"extraManifests" protobuf:"1"`
}

// Definition implements resource.Spec.
func (ExtraManifestsConfigSpec) Definition() *resource.Definition {
	return extraManifestsConfigDefinition
}

// ExtraManifest is a manifest that the machine configuration contains or names by URL.
type ExtraManifest struct {
	Name           string            `yaml:"name"                     protobuf:"1"`
	URL            string            `yaml:"url,omitempty"            protobuf:"2"`
	Priority       string            `yaml:"priority"                 protobuf:"3"`
	ExtraHeaders   map[string]string `yaml:"extraHeaders,omitempty"   protobuf:"4"`
	InlineManifest string            `yaml:"inlineManifest,omitempty" protobuf:"5"`
}

var manifestDefinition = controlPlane.Sensitive().Type("Manifests")

// ManifestSpec is the objects of one bootstrap manifest.
type ManifestSpec struct {
	Items []SingleManifest `yaml:"items" protobuf:"1"`
}

// Definition implements resource.Spec.
func (ManifestSpec) Definition() *resource.Definition { return manifestDefinition }

// SingleManifest is one Kubernetes object.
type SingleManifest struct {
	Object map[string]any `yaml:"object" protobuf:"1"`
}

// MarshalYAML prints the object itself.
func (m SingleManifest) MarshalYAML() (any, error) { return m.Object, nil }

var manifestStatusDefinition = controlPlane.Type("ManifestStatuses")

// ManifestStatusSpec names the applied manifests.
type ManifestStatusSpec struct {
	ManifestsApplied []string `yaml:"manifestsApplied" protobuf:"1"`
	// WaitsFor is what must happen before this machine applies them; empty when nothing is waited for. The contract of clients has no field for
	// it.
	WaitsFor string `yaml:"waitsFor,omitempty"`
}

// Definition implements resource.Spec.
func (ManifestStatusSpec) Definition() *resource.Definition { return manifestStatusDefinition }
