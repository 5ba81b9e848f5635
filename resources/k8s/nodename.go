// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var nodenameDefinition = &resource.Definition{
	Type:             "Nodenames.kubernetes.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Nodename", JSONPath: "{.nodename}"},
		{Name: "Kept", JSONPath: "{.kept}"},
	},
}

// NodenameSpec is the name of the own Node.
type NodenameSpec struct {
	Nodename             string `yaml:"nodename" protobuf:"1"`
	HostnameVersion      string `yaml:"hostnameVersion" protobuf:"2"`
	SkipNodeRegistration bool   `yaml:"skipNodeRegistration" protobuf:"3"`
	// Kept is why the Node is not called as the host is; empty when it is. Peers' contract has no field for it.
	Kept string `yaml:"kept,omitempty"`
}

// Definition implements resource.Spec.
func (NodenameSpec) Definition() *resource.Definition { return nodenameDefinition }
