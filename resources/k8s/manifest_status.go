// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var manifestStatusDefinition = &resource.Definition{
	Type:             "ManifestStatuses.kubernetes.talos.dev",
	DefaultNamespace: ControlPlaneNamespace,
}

// ManifestStatusSpec names the manifests that were applied.
type ManifestStatusSpec struct {
	ManifestsApplied []string `yaml:"manifestsApplied" protobuf:"1"`
}

// Definition implements resource.Spec.
func (ManifestStatusSpec) Definition() *resource.Definition { return manifestStatusDefinition }
