// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/config"
)

// RawNamespace has what each source says about the machines of the cluster. The ids are SOURCE/NODEID.
const RawNamespace = "cluster-raw"

// The sources of raw affiliates.
const (
	// RawService is the discovery service that is watched now.
	RawService = "service/"
	// RawKubernetes is the annotations of Nodes.
	RawKubernetes = "k8s/"
	// RawKept is what a source said that is not watched now, or that this machine has kept on its disk.
	RawKept = "kept/"
)

// ObservedAddressID is the id, in the namespace of this package, of the AddressStatus of the address at which a discovery service sees this machine.
const ObservedAddressID = "service"

var affiliateDefinition = domain.Alias("affiliate", "affiliates").Type("Affiliates",
	"Hostname={.hostname}", "Machine Type={.machineType}", "Addresses={.addresses}")

// AffiliateSpec is a machine that may be a member of the cluster. Its id is the machine's identity.
type AffiliateSpec struct {
	NodeID          string                 `yaml:"nodeId" protobuf:"1"`
	Addresses       []netip.Addr           `yaml:"addresses" protobuf:"2"`
	Hostname        string                 `yaml:"hostname" protobuf:"3"`
	Nodename        string                 `yaml:"nodename,omitempty" protobuf:"4"`
	OperatingSystem string                 `yaml:"operatingSystem" protobuf:"5"`
	MachineType     config.MachineType     `yaml:"machineType" protobuf:"6"`
	KubeSpan        *KubeSpanAffiliateSpec `yaml:"kubespan,omitempty" protobuf:"7"`
	ControlPlane    *ControlPlane          `yaml:"controlPlane,omitempty" protobuf:"8"`

	// Revision is that of the machine's announcement: the highest one is the newest. Machines that do not count have 0. The clients'
	// contract has no field for it, and none for Etcd.
	Revision uint64 `yaml:"revision,omitempty"`
	// Etcd is what the machine says about its etcd.
	Etcd EtcdClaim `yaml:"etcd,omitempty"`
}

// Definition implements resource.Spec.
func (AffiliateSpec) Definition() *resource.Definition { return affiliateDefinition }

// KubeSpanAffiliateSpec is how a machine is reached through the encrypted network between machines.
type KubeSpanAffiliateSpec struct {
	PublicKey                 string           `yaml:"publicKey" protobuf:"1"`
	Address                   netip.Addr       `yaml:"address" protobuf:"2"`
	AdditionalAddresses       []netip.Prefix   `yaml:"additionalAddresses" protobuf:"3"`
	Endpoints                 []netip.AddrPort `yaml:"endpoints" protobuf:"4"`
	ExcludeAdvertisedNetworks []netip.Prefix   `yaml:"excludeAdvertisedNetworks,omitempty" protobuf:"5"`
}
