// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var linkRefreshDefinition = &resource.Definition{
	Type:             "LinkRefreshes.net.talos.dev",
	DefaultNamespace: NamespaceName,
}

// LinkRefreshSpec asks for the links to be read again, where the kernel sends no event.
type LinkRefreshSpec struct {
	Generation int64 `yaml:"generation" protobuf:"1"`
}

// Definition implements resource.Spec.
func (LinkRefreshSpec) Definition() *resource.Definition { return linkRefreshDefinition }
