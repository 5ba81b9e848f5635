// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var extraManifestsConfigDefinition = &resource.Definition{
	Type:             "ExtraManifestsConfigs.kubernetes.talos.dev",
	DefaultNamespace: ControlPlaneNamespace,
	Sensitivity:      resource.Sensitive,
}

// ExtraManifestsConfigSpec is the remote and inline manifests of the machine configuration.
type ExtraManifestsConfigSpec struct {
	ExtraManifests []ExtraManifest `yaml:"extraManifests" protobuf:"1"`
}

// Definition implements resource.Spec.
func (ExtraManifestsConfigSpec) Definition() *resource.Definition {
	return extraManifestsConfigDefinition
}
