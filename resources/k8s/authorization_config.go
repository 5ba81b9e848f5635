// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var authorizationConfigDefinition = &resource.Definition{
	Type:             "AuthorizationConfigs.kubernetes.talos.dev",
	DefaultNamespace: ControlPlaneNamespace,
	Sensitivity:      resource.Sensitive,
}

// AuthorizationConfigSpec is the API server's structured authorization.
type AuthorizationConfigSpec struct {
	Image  string       `yaml:"image" protobuf:"1"`
	Config []Authorizer `yaml:"config" protobuf:"2"`
}

// Definition implements resource.Spec.
func (AuthorizationConfigSpec) Definition() *resource.Definition {
	return authorizationConfigDefinition
}
