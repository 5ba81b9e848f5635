// SPDX-License-Identifier: Apache-2.0

package runtime

import "github.com/seed-59268b81/talos/cosi/resource"

// PlatformMetadataID is the id of the only one.
const PlatformMetadataID = "platformmetadata"

var platformMetadataDefinition = &resource.Definition{
	Type:             "PlatformMetadatas.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Platform", JSONPath: "{.platform}"},
		{Name: "Type", JSONPath: "{.instanceType}"},
		{Name: "Region", JSONPath: "{.region}"},
		{Name: "Zone", JSONPath: "{.zone}"},
	},
}

// PlatformMetadataSpec is what the place where the machine runs tells of it.
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
