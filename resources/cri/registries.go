// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/secrets"
)

var registriesConfigDefinition = domain.Sensitive().Type("RegistryConfigs")

// RegistriesConfigSpec is where images come from, and how the machine accesses each registry. The keys are hosts, with their ports if they
// have one.
type RegistriesConfigSpec struct {
	RegistryMirrors map[string]RegistryMirrorConfig `yaml:"mirrors" protobuf:"1"`
	RegistryAuths   map[string]RegistryAuthConfig   `yaml:"auths" protobuf:"2"`
	RegistryTLSs    map[string]RegistryTLSConfig    `yaml:"tls" protobuf:"3"`
}

// Definition implements resource.Spec.
func (RegistriesConfigSpec) Definition() *resource.Definition { return registriesConfigDefinition }

// AnyRegistry is the key of the mirrors of registries that are not named.
const AnyRegistry = "*"

// RegistryMirrorConfig is where the images of a registry come from, in this order.
type RegistryMirrorConfig struct {
	MirrorEndpoints []RegistryEndpointConfig `yaml:"endpoints" protobuf:"1"`
	// MirrorSkipFallback is set if the images do not come from the registry itself.
	MirrorSkipFallback bool `yaml:"skipFallback" protobuf:"3"`
}

// RegistryEndpointConfig is one place where images come from.
type RegistryEndpointConfig struct {
	EndpointEndpoint string `yaml:"endpoint" protobuf:"1"`
	// EndpointOverridePath is set if the path of the URL takes the place of /v2.
	EndpointOverridePath bool `yaml:"overridePath" protobuf:"2"`
}

// RegistryAuthConfig is what the machine logs in to a registry with.
type RegistryAuthConfig struct {
	RegistryUsername      string `yaml:"username" protobuf:"1"`
	RegistryPassword      string `yaml:"password" protobuf:"2"`
	RegistryAuth          string `yaml:"auth" protobuf:"3"`
	RegistryIdentityToken string `yaml:"identityToken" protobuf:"4"`
}

// RegistryTLSConfig is how the machine and a registry authenticate each other.
type RegistryTLSConfig struct {
	TLSClientIdentity *secrets.CertAndKey `yaml:"clientIdentity,omitempty" protobuf:"1"`
	// TLSCA are certificates of authorities, in PEM.
	TLSCA                 string `yaml:"ca,omitempty" protobuf:"2"`
	TLSInsecureSkipVerify bool   `yaml:"insecureSkipVerify" protobuf:"3"`
}
