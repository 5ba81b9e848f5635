// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var kubernetesCertsDefinition = &resource.Definition{
	Type:             "KubernetesSecrets.secrets.talos.dev",
	DefaultNamespace: NamespaceName,
	Sensitivity:      resource.Sensitive,
}

// KubernetesCertsSpec is the kubeconfigs of the control plane's own clients.
type KubernetesCertsSpec struct {
	SchedulerKubeconfig         string `yaml:"schedulerKubeconfig" protobuf:"4"`
	ControllerManagerKubeconfig string `yaml:"controllerManagerKubeconfig" protobuf:"5"`
	LocalhostAdminKubeconfig    string `yaml:"localhostAdminKubeconfig" protobuf:"6"`
	AdminKubeconfig             string `yaml:"adminKubeconfig" protobuf:"7"`
}

// Definition implements resource.Spec.
func (KubernetesCertsSpec) Definition() *resource.Definition { return kubernetesCertsDefinition }
