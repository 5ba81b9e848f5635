// SPDX-License-Identifier: Apache-2.0

package etcd

import "github.com/seed-59268b81/talos/cosi/resource"

// Register makes the domain's types known to this process.
func Register() error {
	for _, register := range []func() error{
		resource.Register[BootstrapRequestSpec],
		resource.Register[ConfigSpec],
		resource.Register[MemberSpec],
		resource.Register[PKIStatusSpec],
		resource.Register[SpecSpec],
	} {
		if err := register(); err != nil {
			return err
		}
	}

	return nil
}
