// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
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

// Or returns a value that may be absent, or its default.
func Or[T any](value *T, absent T) T {
	if value == nil {
		return absent
	}

	return *value
}
