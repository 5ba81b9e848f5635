// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	"github.com/seed-59268b81/talos/api/contract"
)

// The defaults of keys that a document does not set.
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
	// DefaultDiscoveryEndpoint is the service that the main document means without another one.
	DefaultDiscoveryEndpoint = "https://discovery.talos.dev/"
)

// IsTrue returns the value of a switch that is off by default.
func IsTrue(b *bool) bool { return b != nil && *b }

// Or returns the value, or absent if it is nil.
func Or[T any](value *T, absent T) T {
	if value == nil {
		return absent
	}

	return *value
}
