// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var kubePrismStatusesDefinition = &resource.Definition{
	Type:             "KubePrismStatuses.kubernetes.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Host", JSONPath: "{.host}"},
		{Name: "Healthy", JSONPath: "{.healthy}"},
	},
}

// KubePrismStatusesSpec tells that KubePrism serves.
type KubePrismStatusesSpec struct {
	Host    string `yaml:"host" protobuf:"1"`
	Healthy bool   `yaml:"healthy" protobuf:"2"`
}

// Definition implements resource.Spec.
func (KubePrismStatusesSpec) Definition() *resource.Definition { return kubePrismStatusesDefinition }
