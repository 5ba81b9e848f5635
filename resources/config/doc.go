// SPDX-License-Identifier: Apache-2.0

// Package config holds the resources of the machine configuration: the documents as they were applied, the
// role of the machine, and the state of acquiring a configuration.
package config

import "github.com/seed-59268b81/talos/cosi/resource"

// NamespaceName of the domain.
const NamespaceName = "config"

// Register makes the domain's types known to this process.
func Register() error {
	for _, register := range []func() error{
		resource.Register[MachineConfigSpec],
		resource.Register[MachineTypeSpec],
		resource.Register[AcquireConfigSpec],
		resource.Register[AcquireConfigStatus],
	} {
		if err := register(); err != nil {
			return err
		}
	}

	return nil
}
