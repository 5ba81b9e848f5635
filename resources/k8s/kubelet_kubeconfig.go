// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var kubeletKubeconfigDefinition = &resource.Definition{
	Type:             "KubeletKubeconfigs.kubernetes.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Hash", JSONPath: "{.hash}"},
	},
}

// KubeletKubeconfigSpec is present once the kubelet has its own kubeconfig.
type KubeletKubeconfigSpec struct {
	Hash string `yaml:"hash" protobuf:"1"`
}

// Definition implements resource.Spec.
func (KubeletKubeconfigSpec) Definition() *resource.Definition { return kubeletKubeconfigDefinition }
