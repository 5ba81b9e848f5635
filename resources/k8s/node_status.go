// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var nodeStatusDefinition = &resource.Definition{
	Type:             "NodeStatuses.kubernetes.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Ready", JSONPath: "{.nodeReady}"},
		{Name: "Unschedulable", JSONPath: "{.unschedulable}"},
	},
}

// NodeStatusSpec is the own Node as the API server has it.
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
