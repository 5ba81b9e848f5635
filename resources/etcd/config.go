// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var configDefinition = domain.Type("EtcdConfigs")

// ConfigSpec has etcd's settings of the machine configuration.
type ConfigSpec struct {
	AdvertiseValidSubnets   []string             `yaml:"advertiseValidSubnets,omitempty" protobuf:"1"`
	AdvertiseExcludeSubnets []string             `yaml:"advertiseExcludeSubnets" protobuf:"2"`
	Image                   string               `yaml:"image" protobuf:"3"`
	ListenValidSubnets      []string             `yaml:"listenValidSubnets,omitempty" protobuf:"5"`
	ListenExcludeSubnets    []string             `yaml:"listenExcludeSubnets,omitempty" protobuf:"6"`
	ExtraArgs               map[string]ArgValues `yaml:"extraArgs" protobuf:"7"`
}

// Definition implements resource.Spec.
func (ConfigSpec) Definition() *resource.Definition { return configDefinition }

// ArgValues are the values of one command line flag, which is repeated for each.
type ArgValues struct {
	Values []string `yaml:"values" protobuf:"1"`
}

var specDefinition = domain.Type("EtcdSpecs")

// SpecSpec has the settings that etcd runs with.
type SpecSpec struct {
	Name                  string               `yaml:"name" protobuf:"1"`
	AdvertisedAddresses   []netip.Addr         `yaml:"advertisedAddresses" protobuf:"2"`
	Image                 string               `yaml:"image" protobuf:"3"`
	ListenPeerAddresses   []netip.Addr         `yaml:"listenPeerAddresses" protobuf:"5"`
	ListenClientAddresses []netip.Addr         `yaml:"listenClientAddresses" protobuf:"6"`
	ExtraArgs             map[string]ArgValues `yaml:"extraArgs" protobuf:"7"`
}

// Definition implements resource.Spec.
func (SpecSpec) Definition() *resource.Definition { return specDefinition }
