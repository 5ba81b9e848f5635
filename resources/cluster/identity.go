// SPDX-License-Identifier: Apache-2.0

package cluster

import "github.com/seed-59268b81/talos/cosi/resource"

var identityDefinition = domain.Type("Identities", "ID={.nodeId}")

// IdentitySpec is the identity of the machine, which is stored on its disk.
type IdentitySpec struct {
	NodeID string `yaml:"nodeId" protobuf:"1"`
}

// Definition implements resource.Spec.
func (IdentitySpec) Definition() *resource.Definition { return identityDefinition }
