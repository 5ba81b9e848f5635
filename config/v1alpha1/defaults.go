// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"net/netip"
	"time"

	"github.com/seed-59268b81/talos/api/contract"
)

// What stands where the document is silent.
const (
	DefaultClusterName   = "kubernetes"
	DefaultDNSDomain     = "cluster.local"
	DefaultAPIServerPort = contract.KubernetesPort
	DefaultKubePrismPort = contract.KubePrismPort
	DefaultPodSubnet     = "10.244.0.0/16"
	DefaultServiceSubnet = "10.96.0.0/12"
	DefaultCNI           = "flannel"
	DefaultProxyMode     = "nftables"
	DefaultCertLifetime  = 8760 * time.Hour
)

// IsTrue reads a switch that is off unless set.
func IsTrue(b *bool) bool { return b != nil && *b }

// IsTrueOr reads a switch with a default.
func IsTrueOr(b *bool, unset bool) bool {
	if b == nil {
		return unset
	}

	return *b
}

// Name is the cluster's name.
func (c *ClusterConfig) Name() string { return or(c.ClusterName, DefaultClusterName) }

// APIServerPort is the port of the API server on each control plane machine.
func (c *ClusterConfig) APIServerPort() int {
	return or(c.ControlPlane.LocalAPIServerPort, DefaultAPIServerPort)
}

// DNSDomain is the domain of services.
func (c *ClusterConfig) DNSDomain() string { return or(c.Network.DNSDomain, DefaultDNSDomain) }

// CNI is the pod network's name.
func (c *ClusterConfig) CNI() string { return or(c.Network.CNI.Name, DefaultCNI) }

// PodSubnets are the networks of pods.
func (c *ClusterConfig) PodSubnets() []netip.Prefix {
	if len(c.Network.PodSubnets) == 0 {
		return []netip.Prefix{netip.MustParsePrefix(DefaultPodSubnet)}
	}

	return c.Network.PodSubnets
}

// ServiceSubnets are the networks of services.
func (c *ClusterConfig) ServiceSubnets() []netip.Prefix {
	if len(c.Network.ServiceSubnets) == 0 {
		return []netip.Prefix{netip.MustParsePrefix(DefaultServiceSubnet)}
	}

	return c.Network.ServiceSubnets
}

// ScheduleOnControlPlanes tells whether ordinary pods may run on control plane machines.
func (c *ClusterConfig) ScheduleOnControlPlanes() bool {
	return IsTrue(c.AllowSchedulingOnControlPlanes) || IsTrue(c.AllowSchedulingOnMasters)
}

// AdminCertLifetime is how long an administrator's kubeconfig is good.
func (c *ClusterConfig) AdminCertLifetime() time.Duration {
	return or(c.AdminKubeconfig.CertLifetime, DefaultCertLifetime)
}

// KubePrismPort is the port of KubePrism, and whether it is on.
func (m *MachineConfig) KubePrismPort() (int, bool) {
	return or(m.Features.KubePrism.Port, DefaultKubePrismPort), IsTrue(m.Features.KubePrism.Enabled)
}

func or[T comparable](v, otherwise T) T {
	var zero T

	if v == zero {
		return otherwise
	}

	return v
}
