// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var kubeletDefinition = domain.Type("KubeletSecrets")

// KubeletSpec has what the kubelet needs to join the cluster.
type KubeletSpec struct {
	Endpoint              URL    `yaml:"endpoint" protobuf:"1"`
	BootstrapTokenID      string `yaml:"bootstrapTokenID" protobuf:"3"`
	BootstrapTokenSecret  string `yaml:"bootstrapTokenSecret" protobuf:"4"`
	AcceptedCAs           []Cert `yaml:"acceptedCAs" protobuf:"5"`
	EndpointTLSServerName string `yaml:"endpointTLSServerName" protobuf:"6"`
}

// Definition implements resource.Spec.
func (KubeletSpec) Definition() *resource.Definition { return kubeletDefinition }
