// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var specDefinition = &resource.Definition{
	Type:             "EtcdSpecs.etcd.talos.dev",
	DefaultNamespace: NamespaceName,
}

// SpecSpec is etcd as it is to run.
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
