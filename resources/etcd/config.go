// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var configDefinition = &resource.Definition{
	Type:             "EtcdConfigs.etcd.talos.dev",
	DefaultNamespace: NamespaceName,
}

// ConfigSpec is etcd's settings from the machine configuration.
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
