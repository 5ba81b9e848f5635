// SPDX-License-Identifier: Apache-2.0

package k8s

import "github.com/seed-59268b81/talos/cosi/resource"

var admissionControlConfigDefinition = controlPlane.Sensitive().Type("AdmissionControlConfigs")

// AdmissionControlConfigSpec configures the API server's admission plugins.
type AdmissionControlConfigSpec struct {
	Config []AdmissionPlugin `yaml:"config" protobuf:"1"`
}

// Definition implements resource.Spec.
func (AdmissionControlConfigSpec) Definition() *resource.Definition {
	return admissionControlConfigDefinition
}

// AdmissionPlugin is the configuration of one admission plugin.
type AdmissionPlugin struct {
	Name          string         `yaml:"name"          protobuf:"1"`
	Configuration map[string]any `yaml:"configuration" protobuf:"2"`
}

var auditPolicyConfigDefinition = controlPlane.Sensitive().Type("AuditPolicyConfigs")

// AuditPolicyConfigSpec is the API server's audit policy.
type AuditPolicyConfigSpec struct {
	Config map[string]any `yaml:"config" protobuf:"1"`
}

// Definition implements resource.Spec.
func (AuditPolicyConfigSpec) Definition() *resource.Definition { return auditPolicyConfigDefinition }

var authenticationConfigDefinition = controlPlane.Sensitive().Type("AuthenticationConfigs")

// AuthenticationConfigSpec is the API server's structured authentication.
type AuthenticationConfigSpec struct {
	Config map[string]any `yaml:"config" protobuf:"1"`
}

// Definition implements resource.Spec.
func (AuthenticationConfigSpec) Definition() *resource.Definition {
	return authenticationConfigDefinition
}

var authorizationConfigDefinition = controlPlane.Sensitive().Type("AuthorizationConfigs")

// AuthorizationConfigSpec is the API server's structured authorization.
type AuthorizationConfigSpec struct {
	Image  string       `yaml:"image" protobuf:"1"`
	Config []Authorizer `yaml:"config" protobuf:"2"`
}

// Definition implements resource.Spec.
func (AuthorizationConfigSpec) Definition() *resource.Definition {
	return authorizationConfigDefinition
}

// Authorizer is one authorizer in the API server's chain.
type Authorizer struct {
	Type    string         `yaml:"type"              protobuf:"1"`
	Name    string         `yaml:"name"              protobuf:"2"`
	Webhook map[string]any `yaml:"webhook,omitempty" protobuf:"3"`
}

var etcdEncryptionConfigDefinition = domain.Sensitive().Type("EtcdEncryptionConfigs")

// EtcdEncryptionConfigSpec is the API server's EncryptionConfiguration, as YAML.
type EtcdEncryptionConfigSpec struct {
	Configuration string `yaml:"configuration" protobuf:"1"`
}

// Definition implements resource.Spec.
func (EtcdEncryptionConfigSpec) Definition() *resource.Definition {
	return etcdEncryptionConfigDefinition
}
