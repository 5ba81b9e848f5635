// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// Register makes the domain's types known to this process.
func Register() error {
	return errors.Join(
		resource.Register[BootstrapRequestSpec](),
		resource.Register[ConfigSpec](),
		resource.Register[MemberSpec](),
		resource.Register[PKIStatusSpec](),
		resource.Register[SpecSpec](),
	)
}
