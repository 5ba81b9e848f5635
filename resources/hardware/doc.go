// SPDX-License-Identifier: Apache-2.0

// Package hardware holds the resources of the devices of the computer.
package hardware

import (
	"errors"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/definition"
)

// NamespaceName of the domain.
const NamespaceName = "hardware"

// settings are the types whose group is that of the runtime.
var settings = definition.Domain{Group: "runtime.talos.dev", Namespace: NamespaceName}

// Register makes the domain's types known to this process.
func Register() error {
	return errors.Join(
		resource.Register[PCIDriverRebindConfigSpec](),
		resource.Register[PCIDriverRebindStatusSpec](),
	)
}
