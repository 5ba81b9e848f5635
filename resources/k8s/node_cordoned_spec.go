// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var nodeCordonedSpecDefinition = &resource.Definition{
	Type:             "NodeCordonedSpecs.k8s.talos.dev",
	DefaultNamespace: NamespaceName,
	Sensitivity:      resource.Sensitive,
}

// NodeCordonedSpecSpec exists while the own Node is to be unschedulable.
type NodeCordonedSpecSpec struct{}

// Definition implements resource.Spec.
func (NodeCordonedSpecSpec) Definition() *resource.Definition { return nodeCordonedSpecDefinition }
