// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var kubePrismEndpointsDefinition = &resource.Definition{
	Type:             "KubePrismEndpoints.kubernetes.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Hosts", JSONPath: "{.endpoints[*].host}"},
	},
}

// KubePrismEndpointsSpec is the candidates for KubePrism.
type KubePrismEndpointsSpec struct {
	Endpoints []KubePrismEndpoint `yaml:"endpoints" protobuf:"1"`
}

// Definition implements resource.Spec.
func (KubePrismEndpointsSpec) Definition() *resource.Definition { return kubePrismEndpointsDefinition }
