// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/definition"
)

// ConfigID is the id of the only DiscoveryConfig.
const ConfigID = "cluster"

var configDefinition = definition.Domain{Group: domain.Group, Namespace: config.NamespaceName}.Sensitive().Type("DiscoveryConfigs")

// ConfigSpec is how the machine finds the others of its cluster.
type ConfigSpec struct {
	DiscoveryEnabled          bool `yaml:"discoveryEnabled" protobuf:"1"`
	RegistryKubernetesEnabled bool `yaml:"registryKubernetesEnabled" protobuf:"2"`
	RegistryServiceEnabled    bool `yaml:"registryServiceEnabled" protobuf:"3"`
	// ServiceEndpoint and ServiceEndpointInsecure are those of the first of ServiceEndpoints, for older clients.
	ServiceEndpoint         string `yaml:"serviceEndpoint" protobuf:"4"`
	ServiceEndpointInsecure bool   `yaml:"serviceEndpointInsecure,omitempty" protobuf:"5"`
	// ServiceEncryptionKey encrypts what the machines tell each other: 32 bytes.
	ServiceEncryptionKey []byte            `yaml:"serviceEncryptionKey" protobuf:"6"`
	ServiceClusterID     string            `yaml:"serviceClusterID" protobuf:"7"`
	ServiceEndpoints     []ServiceEndpoint `yaml:"serviceEndpoints,omitempty" protobuf:"8"`
}

// ServiceEndpoint is a discovery service, as HOST:PORT.
type ServiceEndpoint struct {
	Name     string `yaml:"name" protobuf:"1"`
	Endpoint string `yaml:"endpoint" protobuf:"2"`
	// Insecure is without TLS.
	Insecure bool `yaml:"insecure,omitempty" protobuf:"3"`
}

// Definition implements resource.Spec.
func (ConfigSpec) Definition() *resource.Definition { return configDefinition }
