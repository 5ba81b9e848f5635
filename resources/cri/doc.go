// SPDX-License-Identifier: Apache-2.0

// Package cri holds the resources of the container runtime: its registries, its own configuration, the image cache, and seccomp profiles.
package cri

import (
	"errors"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/definition"
)

// NamespaceName of the domain.
const NamespaceName = "cri"

// The ids of the only resource of each type.
const (
	RegistriesID      = "registries"
	CustomizationID   = "customization"
	BaseRuntimeSpecID = "base-runtime-spec"
	ImageCacheID      = "image-cache"
)

var domain = definition.Domain{Group: "cri.talos.dev", Namespace: NamespaceName}

// Register makes the domain's types known to this process.
func Register() error {
	return errors.Join(
		resource.Register[BaseRuntimeSpecConfigSpec](),
		resource.Register[CustomizationConfigSpec](),
		resource.Register[ImageCacheConfigSpec](),
		resource.Register[RegistriesConfigSpec](),
		resource.Register[SeccompProfileSpec](),
	)
}
