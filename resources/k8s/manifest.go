// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var manifestDefinition = &resource.Definition{
	Type:             "Manifests.kubernetes.talos.dev",
	DefaultNamespace: ControlPlaneNamespace,
	Sensitivity:      resource.Sensitive,
}

// ManifestSpec is the objects of one bootstrap manifest.
type ManifestSpec struct {
	Items []SingleManifest `yaml:"items" protobuf:"1"`
}

// Definition implements resource.Spec.
func (ManifestSpec) Definition() *resource.Definition { return manifestDefinition }
