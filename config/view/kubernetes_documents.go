// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/documents/k8s"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// defaultCNI returns the pod network of a configuration that does not name one. Where documents describe the cluster, flannel has a
// document of its own: without it, the pod network is the cluster owner's.
func (c *Config) defaultCNI() string {
	if config.Find[*k8s.KubeClusterConfig](c.all) != nil {
		return CNINone
	}

	return CNIFlannel
}

// Authentication is the API server's AuthenticationConfiguration. If empty, the default applies.
func (c *Config) Authentication() Object {
	if d := config.Find[*k8s.KubeAuthenticationConfig](c.all); d != nil {
		return d.Configuration
	}

	return nil
}

// EtcdEncryption is the API server's EncryptionConfiguration. If empty, it follows from SecretboxSecret and AESCBCSecret.
func (c *Config) EtcdEncryption() Object {
	if d := config.Find[*k8s.KubeEtcdEncryptionConfig](c.all); d != nil {
		return d.Config
	}

	return nil
}

// StartupProbes reports whether the API server has time to start before the kubelet checks that it lives.
func (c *Config) StartupProbes() bool {
	d := config.Find[*k8s.KubeAPIServerConfig](c.all)

	return d == nil || IsTrueOr(d.StartupProbes, true)
}

// AggregatorAcceptedCAs are additional authorities of API servers, for extensions of the API.
func (c *Config) AggregatorAcceptedCAs() (accepted []Cert) {
	if d := config.Find[*k8s.KubeAggregatorCAConfig](c.all); d != nil {
		for _, certificates := range d.AcceptedCAs {
			accepted = append(accepted, Cert{Crt: v1alpha1.Base64(certificates)})
		}
	}

	return accepted
}

// ServiceAccounts says which tokens of service accounts are issued and accepted.
type ServiceAccounts struct {
	// Issuer is in new tokens. The tokens of AcceptedIssuers are valid too.
	Issuer          string
	AcceptedIssuers []string
	// AcceptedKeys are public keys in PEM beside that of ServiceAccountKey.
	AcceptedKeys [][]byte
	// Audiences are the API servers' names. The first one is that of new tokens.
	Audiences []string
}

// ServiceAccounts returns which tokens of service accounts are issued and accepted. The issuer is the cluster's endpoint by default.
func (c *Config) ServiceAccounts() ServiceAccounts {
	endpoint := c.Endpoint().String()

	d := config.Find[*k8s.KubeServiceAccountConfig](c.all)
	if d == nil {
		return ServiceAccounts{Issuer: endpoint, Audiences: []string{endpoint}}
	}

	out := ServiceAccounts{Issuer: endpoint}

	if d.Issuer != nil && !d.Issuer.IssuerURL.IsZero() {
		out.Issuer = d.Issuer.IssuerURL.String()
	}

	out.Audiences = []string{out.Issuer}

	if d.Accepted != nil {
		for _, issuer := range d.Accepted.Issuers {
			// The API server does not start with an issuer that is named twice.
			if issuer != out.Issuer && !slices.Contains(out.AcceptedIssuers, issuer) {
				out.AcceptedIssuers = append(out.AcceptedIssuers, issuer)
			}
		}

		out.Audiences = append(out.Audiences, d.Accepted.Audiences...)

		for _, key := range d.Accepted.PublicKeys {
			out.AcceptedKeys = append(out.AcceptedKeys, []byte(key))
		}
	}

	return out
}

// NodeCIDRMaskSizes returns the lengths of the prefixes of a node's pod networks. 0 is Kubernetes' default.
func (c *Config) NodeCIDRMaskSizes() (ipv4, ipv6 int) {
	if d := config.Find[*k8s.KubeNetworkConfig](c.all); d != nil {
		return d.NodeCIDRMaskSizeIPv4, d.NodeCIDRMaskSizeIPv6
	}

	return 0, 0
}

// Flannel is the settings of flannel.
type Flannel struct {
	BackendType  string
	BackendPort  int // of vxlan
	BackendMTU   int // 0 is the largest possible one
	BackendExtra Object
	Resources    Resources
	ExtraArgs    []string
	// NetworkPolicies is set if another program beside flannel enforces them.
	NetworkPolicies bool
}

// The defaults of flannel.
const (
	defaultFlannelBackend = string(k8s.FlannelVXLAN)
	// defaultFlannelPort is the port that IANA has assigned; the kernel's default is an older one.
	defaultFlannelPort = 4789
)

// Flannel returns the settings of flannel.
func (c *Config) Flannel() Flannel {
	main := c.main.Cluster.Network.CNI.Flannel
	out := Flannel{
		BackendType: defaultFlannelBackend, BackendPort: defaultFlannelPort, ExtraArgs: main.ExtraArgs,
		NetworkPolicies: IsTrue(main.KubeNetworkPoliciesEnabled),
	}

	if d := config.Find[*k8s.KubeFlannelCNIConfig](c.all); d != nil {
		out.BackendType = cmp.Or(string(d.BackendType), out.BackendType)
		out.BackendPort = cmp.Or(d.BackendPort, out.BackendPort)
		out.BackendMTU, out.BackendExtra, out.Resources = d.BackendMTU, d.BackendExtraConfig, d.Resources
	}

	return out
}

// ProxyConfiguration is kube-proxy's KubeProxyConfiguration. If empty, its settings are flags.
func (c *Config) ProxyConfiguration() Object {
	if d := config.Find[*k8s.KubeProxyConfig](c.all); d != nil {
		return d.Config
	}

	return nil
}

// ProxyResources are the requests and limits of kube-proxy.
func (c *Config) ProxyResources() (none Resources) {
	if d := config.Find[*k8s.KubeProxyConfig](c.all); d != nil {
		return d.Resources
	}

	return none
}

// KubePrismServerName is the name that API servers behind KubePrism must have in their certificates. If empty, it is KubePrism's address.
func (c *Config) KubePrismServerName() string {
	if d := config.Find[*k8s.KubePrismConfig](c.all); d != nil {
		return string(d.TLSServerName)
	}

	return ""
}

// ExternalManifest is a manifest that is downloaded. One of the main document has no name.
type ExternalManifest struct {
	Name, URL string
	Headers   map[string]string
}

// ExternalManifests are manifests that are downloaded, with the HTTP headers of the requests.
func (c *Config) ExternalManifests() (all []ExternalManifest) {
	for _, url := range c.main.Cluster.ExtraManifests {
		all = append(all, ExternalManifest{URL: url, Headers: c.main.Cluster.ExtraManifestHeaders})
	}

	for _, d := range config.All[*k8s.KubeExternalManifestConfig](c.all) {
		all = append(all, ExternalManifest{Name: d.DocName, URL: d.URL.String(), Headers: d.Headers})
	}

	return all
}

// TalosAPIAccess is what pods may do with the API of the machines.
type TalosAPIAccess struct {
	Roles, Namespaces []string
}

// TalosAPIAccess returns which pods may call the API of the machines, and with which roles. It reports whether any may.
func (c *Config) TalosAPIAccess() (access TalosAPIAccess, enabled bool) {
	feature := c.main.Machine.Features.KubernetesTalosAPIAccess

	return TalosAPIAccess{Roles: feature.AllowedRoles, Namespaces: feature.AllowedKubernetesNamespaces}, IsTrue(feature.Enabled)
}
