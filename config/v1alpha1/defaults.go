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

// IsTrueOr reads a switch with a default.
func IsTrueOr(b *bool, unset bool) bool {
	if b == nil {
		return unset
	}

	return *b
}
