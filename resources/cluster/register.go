// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// Register makes the types of the domain known to this process.
func Register() error {
	return errors.Join(
		resource.Register[AffiliateSpec](),
		resource.Register[ConfigSpec](),
		resource.Register[DiscoverySourceSpec](),
		resource.Register[EtcdClaimSpec](),
		resource.Register[IdentitySpec](),
		resource.Register[InfoSpec](),
		resource.Register[MemberSpec](),
	)
}
