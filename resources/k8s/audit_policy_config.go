// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var auditPolicyConfigDefinition = &resource.Definition{
	Type:             "AuditPolicyConfigs.kubernetes.talos.dev",
	DefaultNamespace: ControlPlaneNamespace,
	Sensitivity:      resource.Sensitive,
}

// AuditPolicyConfigSpec is the API server's audit policy.
type AuditPolicyConfigSpec struct {
	Config map[string]any `yaml:"config" protobuf:"1"`
}

// Definition implements resource.Spec.
func (AuditPolicyConfigSpec) Definition() *resource.Definition { return auditPolicyConfigDefinition }
