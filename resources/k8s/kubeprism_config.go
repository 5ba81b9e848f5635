// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var kubePrismConfigDefinition = &resource.Definition{
	Type:             "KubePrismConfigs.kubernetes.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Host", JSONPath: "{.host}"},
		{Name: "Port", JSONPath: "{.port}"},
		{Name: "Endpoints", JSONPath: "{.endpoints}"},
	},
}

// KubePrismConfigSpec is where the local load balancer of API servers listens and what is behind it.
type KubePrismConfigSpec struct {
	Host      string              `yaml:"host" protobuf:"1"`
	Port      int                 `yaml:"port" protobuf:"2"`
	Endpoints []KubePrismEndpoint `yaml:"endpoints" protobuf:"3"`
}

// Definition implements resource.Spec.
func (KubePrismConfigSpec) Definition() *resource.Definition { return kubePrismConfigDefinition }
