// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var nodenameDefinition = domain.Type("Nodenames", "Nodename={.nodename}", "Kept={.kept}")

// NodenameSpec is the name of the own Node.
type NodenameSpec struct {
	Nodename             string `yaml:"nodename" protobuf:"1"`
	HostnameVersion      string `yaml:"hostnameVersion" protobuf:"2"`
	SkipNodeRegistration bool   `yaml:"skipNodeRegistration" protobuf:"3"`
	// Kept is why the Node does not have the hostname; empty if it has. The clients' contract has no field for it.
	Kept string `yaml:"kept,omitempty"`
}

// Definition implements resource.Spec.
func (NodenameSpec) Definition() *resource.Definition { return nodenameDefinition }

var nodeIPConfigDefinition = domain.Type("NodeIPConfigs")

// NodeIPConfigSpec is the rules by which the node's addresses are chosen.
type NodeIPConfigSpec struct {
	ValidSubnets   []string `yaml:"validSubnets,omitempty" protobuf:"1"`
	ExcludeSubnets []string `yaml:"excludeSubnets" protobuf:"2"`
}

// Definition implements resource.Spec.
func (NodeIPConfigSpec) Definition() *resource.Definition { return nodeIPConfigDefinition }

var nodeIPDefinition = domain.Type("NodeIPs", "Addresses={.addresses}")

// NodeIPSpec is the addresses that the kubelet registers with.
type NodeIPSpec struct {
	Addresses []netip.Addr `yaml:"addresses" protobuf:"1"`
}

// Definition implements resource.Spec.
func (NodeIPSpec) Definition() *resource.Definition { return nodeIPDefinition }

var nodeStatusDefinition = domain.Type("NodeStatuses", "Ready={.nodeReady}", "Unschedulable={.unschedulable}")

// NodeStatusSpec is the own Node, as the API server has it.
type NodeStatusSpec struct {
	Nodename      string            `yaml:"nodename" protobuf:"1"`
	NodeReady     bool              `yaml:"nodeReady" protobuf:"2"`
	Unschedulable bool              `yaml:"unschedulable" protobuf:"3"`
	Labels        map[string]string `yaml:"labels" protobuf:"4"`
	Annotations   map[string]string `yaml:"annotations" protobuf:"5"`
	PodCIDRs      []netip.Prefix    `yaml:"podCIDRs" protobuf:"6"`
}

// Definition implements resource.Spec.
func (NodeStatusSpec) Definition() *resource.Definition { return nodeStatusDefinition }

// NodeAddressesAnnotation has all addresses of a Node, separated by commas: the kubelet reports only one of each family.
const NodeAddressesAnnotation = "networking.talos.dev/self-ips"

var nodeIdentityDefinition = controlPlane.Type("NodeIdentities", "Addresses={.addresses}", "Control plane={.controlPlane}", "Names={.names}")

// NodeIdentitySpec is the names and addresses of a Node of the cluster, as a control plane's API server has them. Its id is the Node's name.
type NodeIdentitySpec struct {
	Addresses    []netip.Addr `yaml:"addresses" protobuf:"1"`
	ControlPlane bool         `yaml:"controlPlane" protobuf:"2"`
	// Names are the other names that its kubelet or cloud provider gives it. They are not verified.
	Names []string `yaml:"names,omitempty" protobuf:"3"`
}

// Definition implements resource.Spec.
func (NodeIdentitySpec) Definition() *resource.Definition { return nodeIdentityDefinition }
