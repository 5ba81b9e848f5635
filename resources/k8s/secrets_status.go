// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var secretsStatusDefinition = &resource.Definition{
	Type:             "SecretStatuses.kubernetes.talos.dev",
	DefaultNamespace: ControlPlaneNamespace,
	PrintColumns: []resource.PrintColumn{
		{Name: "Ready", JSONPath: "{.ready}"},
		{Name: "Secrets Version", JSONPath: "{.version}"},
	},
}

// SecretsStatusSpec tells that the static pods' keys and certificates are on disk.
type SecretsStatusSpec struct {
	Ready   bool   `yaml:"ready" protobuf:"1"`
	Version string `yaml:"version" protobuf:"2"`
}

// Definition implements resource.Spec.
func (SecretsStatusSpec) Definition() *resource.Definition { return secretsStatusDefinition }
