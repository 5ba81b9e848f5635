// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var memberDefinition = &resource.Definition{
	Type:             "EtcdMembers.etcd.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Member ID", JSONPath: "{.memberID}"},
	},
}

// MemberSpec is the etcd member of this node; the id is hexadecimal.
type MemberSpec struct {
	MemberID string `yaml:"memberID" protobuf:"1"`
}

// Definition implements resource.Spec.
func (MemberSpec) Definition() *resource.Definition { return memberDefinition }
