// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var kubeletLifecycleDefinition = &resource.Definition{
	Type:             "KubeletLifecycles.kubernetes.talos.dev",
	DefaultNamespace: NamespaceName,
}

// KubeletLifecycleSpec exists while the kubelet may run; who needs the kubelet holds a finalizer on it.
type KubeletLifecycleSpec struct{}

// Definition implements resource.Spec.
func (KubeletLifecycleSpec) Definition() *resource.Definition { return kubeletLifecycleDefinition }
