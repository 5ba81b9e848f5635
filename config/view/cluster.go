// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"net/netip"
	"time"

	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// ClusterName returns the cluster's name.
func (c *Config) ClusterName() string {
	return cmp.Or(c.main.Cluster.ClusterName, v1alpha1.DefaultClusterName)
}

// ClusterToken is the bootstrap token of kubelets.
func (c *Config) ClusterToken() string { return c.main.Cluster.Token }

// ClusterCA is Kubernetes' authority. Workers do not have its key.
func (c *Config) ClusterCA() CertPair { return c.main.Cluster.CA }

// ClusterAcceptedCAs are additional trusted authorities of Kubernetes.
func (c *Config) ClusterAcceptedCAs() []Cert { return c.main.Cluster.AcceptedCAs }

// AggregatorCA signs the certificate with which the API server authenticates to its extensions.
func (c *Config) AggregatorCA() CertPair { return c.main.Cluster.AggregatorCA }

// ServiceAccountKey signs the tokens of pods.
func (c *Config) ServiceAccountKey() []byte { return c.main.Cluster.ServiceAccount.Key }

// AESCBCSecret encrypts Kubernetes' secrets in etcd; empty when SecretboxSecret does.
func (c *Config) AESCBCSecret() string { return c.main.Cluster.AESCBCEncryptionSecret }

// SecretboxSecret encrypts Kubernetes' secrets in etcd.
func (c *Config) SecretboxSecret() string { return c.main.Cluster.SecretboxSecret }

// Endpoint is the URL of the API servers.
func (c *Config) Endpoint() *URL { return &c.main.Cluster.ControlPlane.Endpoint }

// APIServerPort is the port of the API server on each control plane machine.
func (c *Config) APIServerPort() int {
	return cmp.Or(c.main.Cluster.ControlPlane.LocalAPIServerPort, v1alpha1.DefaultAPIServerPort)
}

// KubePrismPort returns the port of KubePrism, and reports whether it is enabled.
func (c *Config) KubePrismPort() (int, bool) {
	kubePrism := &c.main.Machine.Features.KubePrism

	return cmp.Or(kubePrism.Port, v1alpha1.DefaultKubePrismPort), IsTrue(kubePrism.Enabled)
}

// DNSDomain is the domain of services.
func (c *Config) DNSDomain() string {
	return cmp.Or(c.main.Cluster.Network.DNSDomain, v1alpha1.DefaultDNSDomain)
}

// PodSubnets are the networks of pods.
func (c *Config) PodSubnets() []netip.Prefix {
	return subnets(c.main.Cluster.Network.PodSubnets, v1alpha1.DefaultPodSubnet)
}

// ServiceSubnets are the networks of services.
func (c *Config) ServiceSubnets() []netip.Prefix {
	return subnets(c.main.Cluster.Network.ServiceSubnets, v1alpha1.DefaultServiceSubnet)
}

func subnets(set []netip.Prefix, otherwise string) []netip.Prefix {
	if len(set) == 0 {
		return []netip.Prefix{netip.MustParsePrefix(otherwise)}
	}

	return set
}

// AdminCertLifetime is the validity of an administrator's kubeconfig.
func (c *Config) AdminCertLifetime() time.Duration {
	return cmp.Or(c.main.Cluster.AdminKubeconfig.CertLifetime, v1alpha1.DefaultCertLifetime)
}
