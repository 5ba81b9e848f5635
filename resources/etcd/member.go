// SPDX-License-Identifier: Apache-2.0

package etcd

import "github.com/seed-59268b81/talos/cosi/resource"

var bootstrapRequestDefinition = domain.Type("BootstrapRequests", "Recover={.recover}")

// BootstrapRequestSpec is the one-time request that this node's etcd starts a new cluster. The API writes it. It has effect until
// etcd has data.
type BootstrapRequestSpec struct {
	// Recover starts from the uploaded snapshot instead of an empty data directory.
	Recover       bool `yaml:"recover"       protobuf:"1"`
	SkipHashCheck bool `yaml:"skipHashCheck" protobuf:"2"`
}

// Definition implements resource.Spec.
func (BootstrapRequestSpec) Definition() *resource.Definition { return bootstrapRequestDefinition }

var pkiStatusDefinition = domain.Type("PKIStatuses", "Ready={.ready}", "Secrets Version={.version}")

// PKIStatusSpec exists when etcd's keys and certificates are on disk.
type PKIStatusSpec struct {
	Ready   bool   `yaml:"ready" protobuf:"1"`
	Version string `yaml:"version" protobuf:"2"`
}

// Definition implements resource.Spec.
func (PKIStatusSpec) Definition() *resource.Definition { return pkiStatusDefinition }

var memberDefinition = domain.Type("EtcdMembers", "Member ID={.memberID}")

// MemberSpec is the etcd member of this node; the id is hexadecimal.
type MemberSpec struct {
	MemberID string `yaml:"memberID" protobuf:"1"`
}

// Definition implements resource.Spec.
func (MemberSpec) Definition() *resource.Definition { return memberDefinition }
