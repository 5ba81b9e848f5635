// SPDX-License-Identifier: Apache-2.0

// Package config holds the resources of the machine configuration: the documents as they were applied, why they cannot be used, the role of the machine,
// and signals while the machine looks for a configuration.
package config

import (
	"errors"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/definition"
)

// NamespaceName of the domain.
const NamespaceName = "config"

var domain = definition.Domain{Group: "config.talos.dev", Namespace: NamespaceName}

// Register makes the domain's types known to this process.
func Register() error {
	return errors.Join(
		resource.Register[MachineConfigSpec](),
		resource.Register[MachineTypeSpec](),
		resource.Register[ConfigFailureSpec](),
		resource.Register[AcquireConfigSpec](),
		resource.Register[AcquireConfigStatus](),
	)
}
