// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/definition"
)

// PlatformMetadataID is the id of the only PlatformMetadata.
const PlatformMetadataID = "platformmetadata"

var platformMetadataDefinition = definition.Domain{Group: "talos.dev", Namespace: NamespaceName}.Type("PlatformMetadatas",
	"Platform={.platform}", "Type={.instanceType}", "Region={.region}", "Zone={.zone}")

// PlatformMetadataSpec is what the platform says about the machine.
type PlatformMetadataSpec struct {
	Platform     string            `yaml:"platform,omitempty"     protobuf:"1"`
	Hostname     string            `yaml:"hostname,omitempty"     protobuf:"2"`
	Region       string            `yaml:"region,omitempty"       protobuf:"3"`
	Zone         string            `yaml:"zone,omitempty"         protobuf:"4"`
	InstanceType string            `yaml:"instanceType,omitempty" protobuf:"5"`
	InstanceID   string            `yaml:"instanceId,omitempty"   protobuf:"6"`
	ProviderID   string            `yaml:"providerId,omitempty"   protobuf:"7"`
	Spot         bool              `yaml:"spot,omitempty"         protobuf:"8"`
	InternalDNS  string            `yaml:"internalDNS,omitempty"  protobuf:"9"`
	ExternalDNS  string            `yaml:"externalDNS,omitempty"  protobuf:"10"`
	Tags         map[string]string `yaml:"tags,omitempty"         protobuf:"11"`
}

// Definition implements resource.Spec.
func (PlatformMetadataSpec) Definition() *resource.Definition { return platformMetadataDefinition }

// PlatformDisks is the id of the condition of a machine without disks of its own.
const PlatformDisks = "disks"

var platformConditionDefinition = domain.Type("PlatformConditions", "Applied={.applied}", "Reason={.reason}", "Message={.message}")

// PlatformConditionSpec is a facility of the computer that the machine does not own, and what is not applied for that reason. The id
// is the facility. A machine that owns all facilities has none.
type PlatformConditionSpec struct {
	Applied bool   `yaml:"applied" protobuf:"1"`
	Reason  string `yaml:"reason"  protobuf:"2"`
	Message string `yaml:"message" protobuf:"3"`
}

// Definition implements resource.Spec.
func (PlatformConditionSpec) Definition() *resource.Definition { return platformConditionDefinition }
