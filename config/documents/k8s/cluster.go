// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/config/value"
)

// KubeClusterConfig names the cluster and says where it is reached.
type KubeClusterConfig struct {
	document.Header `yaml:",inline"`
	// The name of the cluster.
	ClusterName string `yaml:"clusterName,omitempty" maps:"cluster.clusterName"`
	// The URL of the API server, by which machines and people reach it: of a load balancer, of a shared address, or a DNS name.
	Endpoint value.URL `yaml:"endpoint,omitempty" maps:"cluster.controlPlane.endpoint"`
}

var cluster = document.Of[KubeClusterConfig]("KubeClusterConfig", `apiVersion: v1alpha1
kind: KubeClusterConfig
clusterName: production
endpoint: https://api.example.com:6443
`)

// KubeNetworkConfig has the networks of pods and Services.
type KubeNetworkConfig struct {
	document.Header `yaml:",inline"`
	// The domain of the cluster's names; cluster.local without it.
	DNSDomain value.Hostname `yaml:"dnsDomain,omitempty" maps:"cluster.network.dnsDomain"`
	// The networks of pods: one for each family of addresses.
	PodSubnets []netip.Prefix `yaml:"podSubnets,omitempty" merge:"replace" maps:"cluster.network.podSubnets"`
	// The networks of Services: one for each family of addresses.
	ServiceSubnets []netip.Prefix `yaml:"serviceSubnets,omitempty" merge:"replace" maps:"cluster.network.serviceSubnets"`
	// The length of the prefix of a node's network of pods, in IPv4; 24 without it.
	NodeCIDRMaskSizeIPv4 int `yaml:"nodeCIDRMaskSizeIPv4,omitempty" range:"8,30"`
	// The same in IPv6; 64 without it. It is at most 16 longer than that of the network of pods.
	NodeCIDRMaskSizeIPv6 int `yaml:"nodeCIDRMaskSizeIPv6,omitempty" range:"48,126"`
}

var network = document.Of[KubeNetworkConfig]("KubeNetworkConfig", `apiVersion: v1alpha1
kind: KubeNetworkConfig
dnsDomain: cluster.local
podSubnets:
    - 10.244.0.0/16
serviceSubnets:
    - 10.96.0.0/12
`)

// maxNodeNetworkBits is a limit of the controller manager, for IPv6.
const maxNodeNetworkBits = 16

// Validate implements document.Validator.
func (c *KubeNetworkConfig) Validate(r *document.Report) {
	for _, list := range []struct {
		key      string
		networks []netip.Prefix
		mask4    int
		mask6    int
	}{{"podSubnets", c.PodSubnets, c.NodeCIDRMaskSizeIPv4, c.NodeCIDRMaskSizeIPv6}, {"serviceSubnets", c.ServiceSubnets, 0, 0}} {
		families := map[bool]bool{}

		for _, p := range list.networks {
			is4 := p.Addr().Is4()
			if families[is4] {
				r.Wrong(list.key, "has two networks of one family of addresses: want one IPv4 network, one IPv6 network, or one of each")
			}

			families[is4] = true

			mask := map[bool]int{true: list.mask4, false: list.mask6}[is4]

			switch {
			case mask == 0:
			case mask < p.Bits():
				r.Wrong(list.key, "%s is smaller than the /%d of each node", p, mask)
			case !is4 && mask-p.Bits() > maxNodeNetworkBits:
				r.Wrong(list.key, "%s has more than 2^%d networks with the /%d of each node: choose a shorter nodeCIDRMaskSizeIPv6", p, maxNodeNetworkBits, mask)
			}
		}
	}

	for _, pods := range c.PodSubnets {
		if i := slices.IndexFunc(c.ServiceSubnets, pods.Overlaps); i >= 0 {
			r.Wrong("serviceSubnets", "%s overlaps the network of pods %s", c.ServiceSubnets[i], pods)
		}
	}
}

// KubePrismConfig has every machine find an API server on its own loopback: KubePrism connects to one that answers. A machine without
// this document has no KubePrism, if its configuration has other documents of Kubernetes.
type KubePrismConfig struct {
	document.Header `yaml:",inline"`
	// The port on the loopback; 7445 without it.
	Port int `yaml:"port,omitempty" range:"1,65535" maps:"machine.features.kubePrism.port"`
	// The name that API servers must have in their certificates, where these are not for 127.0.0.1: KubePrism connects only to those, and the
	// kubelet verifies the name.
	TLSServerName value.Hostname `yaml:"tlsServerName,omitempty"`
}

var kubePrism = document.Of[KubePrismConfig]("KubePrismConfig", `apiVersion: v1alpha1
kind: KubePrismConfig
port: 7445
`, document.Replaces("machine.features.kubePrism"))

// KubeTalosAPIAccessConfig lets pods call the API of the machines.
type KubeTalosAPIAccessConfig struct {
	document.Header `yaml:",inline"`
	// The roles that pods may have.
	AllowedRoles []string `yaml:"allowedRoles,omitempty" maps:"machine.features.kubernetesTalosAPIAccess.allowedRoles"`
	// The namespaces of these pods.
	AllowedKubernetesNamespaces []string `yaml:"allowedKubernetesNamespaces,omitempty" maps:"machine.features.kubernetesTalosAPIAccess.allowedKubernetesNamespaces"`
}

var talosAPIAccess = document.Of[KubeTalosAPIAccessConfig]("KubeTalosAPIAccessConfig", `apiVersion: v1alpha1
kind: KubeTalosAPIAccessConfig
allowedRoles:
    - `+contract.RoleReader+`
allowedKubernetesNamespaces:
    - monitoring
`, document.ControlPlane, document.Replaces("machine.features.kubernetesTalosAPIAccess"))

// KubeExternalManifestConfig applies objects from a URL.
type KubeExternalManifestConfig struct {
	document.Named `yaml:",inline"`
	// HTTP headers of the request.
	Headers map[string]string `yaml:"headers,omitempty"`
	// The URL.
	URL value.URL `yaml:"url" required:"true" like:"cluster.extraManifests"`
}

var externalManifest = document.Of[KubeExternalManifestConfig]("KubeExternalManifestConfig", `apiVersion: v1alpha1
kind: KubeExternalManifestConfig
name: metrics-server
url: https://manifests.example.com/metrics-server.yaml
`)

// KubeInlineManifestConfig applies objects that it contains.
type KubeInlineManifestConfig struct {
	document.Named `yaml:",inline"`
	// The objects, as YAML documents.
	Manifest string `yaml:"manifest" required:"true" like:"cluster.inlineManifests"`
}

var inlineManifest = document.Of[KubeInlineManifestConfig]("KubeInlineManifestConfig", `apiVersion: v1alpha1
kind: KubeInlineManifestConfig
name: namespace-ci
manifest: |
    apiVersion: v1
    kind: Namespace
    metadata:
        name: ci
`)

// KubeStaticPodConfig runs a pod by the kubelet itself, without an API server.
type KubeStaticPodConfig struct {
	document.Named `yaml:",inline"`
	// The pod, as Kubernetes documents it.
	Pod v1alpha1.Object `yaml:"pod" required:"true" merge:"replace" like:"machine.pods"`
}

var staticPod = document.Of[KubeStaticPodConfig]("KubeStaticPodConfig", `apiVersion: v1alpha1
kind: KubeStaticPodConfig
name: nginx
pod:
    apiVersion: v1
    kind: Pod
    metadata:
        name: nginx
    spec:
        containers:
            - name: nginx
              image: nginx
`)

// Validate implements document.Validator.
func (c *KubeExternalManifestConfig) Validate(r *document.Report) {
	if !c.URL.IsZero() && c.URL.Scheme != "https" && c.URL.Scheme != "http" {
		r.Wrong("url", "the scheme is %q: want https or http", c.URL.Scheme)
	}
}

// Validate implements document.Validator.
func (c *KubeTalosAPIAccessConfig) Validate(r *document.Report) {
	for i, role := range c.AllowedRoles {
		if !slices.Contains(contract.Roles(), role) {
			r.Wrong(fmt.Sprintf("allowedRoles[%d]", i), "%q is not known: want one of %s", role, strings.Join(contract.Roles(), ", "))
		}
	}
}

// Overlay implements overlay.Overlayer: the document switches it on.
func (*KubePrismConfig) Overlay(main *v1alpha1.Config) {
	main.Machine.Features.KubePrism.Enabled = new(true)
}

// Overlay implements overlay.Overlayer: the document switches it on.
func (*KubeTalosAPIAccessConfig) Overlay(main *v1alpha1.Config) {
	main.Machine.Features.KubernetesTalosAPIAccess.Enabled = new(true)
}

// Overlay implements overlay.Overlayer.
func (c *KubeInlineManifestConfig) Overlay(main *v1alpha1.Config) {
	manifests := &main.Cluster.InlineManifests
	*manifests = append(slices.Clip(*manifests), v1alpha1.InlineManifest{Name: c.DocName, Contents: c.Manifest})
}

// Overlay implements overlay.Overlayer.
func (c *KubeStaticPodConfig) Overlay(main *v1alpha1.Config) {
	main.Machine.Pods = append(slices.Clip(main.Machine.Pods), c.Pod)
}
