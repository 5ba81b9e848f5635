// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var admissionControlConfigDefinition = &resource.Definition{
	Type:             "AdmissionControlConfigs.kubernetes.talos.dev",
	DefaultNamespace: ControlPlaneNamespace,
	Sensitivity:      resource.Sensitive,
}

// AdmissionControlConfigSpec configures the API server's admission plugins.
type AdmissionControlConfigSpec struct {
	Config []AdmissionPlugin `yaml:"config" protobuf:"1"`
}

// Definition implements resource.Spec.
func (AdmissionControlConfigSpec) Definition() *resource.Definition {
	return admissionControlConfigDefinition
}
