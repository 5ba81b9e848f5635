// SPDX-License-Identifier: Apache-2.0

package k8s

import "github.com/seed-59268b81/talos/cosi/resource"

var kubeletServingRequestDefinition = &resource.Definition{
	Type:             "KubeletServingRequests.kubernetes.talos.dev",
	DefaultNamespace: ControlPlaneNamespace,
	PrintColumns: []resource.PrintColumn{
		{Name: "Requester", JSONPath: "{.requester}"},
		{Name: "Reason", JSONPath: "{.reason}"},
	},
}

// KubeletServingRequestSpec is a request for a kubelet's serving certificate that this control plane does not approve, and that
// nobody else has decided. Its id is the name of the CertificateSigningRequest.
type KubeletServingRequestSpec struct {
	Requester string `yaml:"requester" protobuf:"1"`
	Reason    string `yaml:"reason" protobuf:"2"`
}

// Definition implements resource.Spec.
func (KubeletServingRequestSpec) Definition() *resource.Definition {
	return kubeletServingRequestDefinition
}
