// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var authenticationConfigDefinition = &resource.Definition{
	Type:             "AuthenticationConfigs.kubernetes.talos.dev",
	DefaultNamespace: ControlPlaneNamespace,
	Sensitivity:      resource.Sensitive,
}

// AuthenticationConfigSpec is the API server's structured authentication.
type AuthenticationConfigSpec struct {
	Config map[string]any `yaml:"config" protobuf:"1"`
}

// Definition implements resource.Spec.
func (AuthenticationConfigSpec) Definition() *resource.Definition {
	return authenticationConfigDefinition
}
