// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var staticPodServerStatusDefinition = &resource.Definition{
	Type:             "StaticPodServerStatuses.kubernetes.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "URL", JSONPath: "{.url}"},
	},
}

// StaticPodServerStatusSpec is where the kubelet finds the static pods: the folder that they are written to.
type StaticPodServerStatusSpec struct {
	URL string `yaml:"url" protobuf:"1"`
}

// Definition implements resource.Spec.
func (StaticPodServerStatusSpec) Definition() *resource.Definition {
	return staticPodServerStatusDefinition
}
