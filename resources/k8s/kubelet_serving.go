// SPDX-License-Identifier: Apache-2.0

package k8s

import "github.com/seed-59268b81/talos/cosi/resource"

var kubeletServingDefinition = domain.Type("KubeletServingStatuses", "Ready={.ready}", "Reason={.reason}")

// KubeletServingStatusSpec says whether the kubelet has a serving certificate of the cluster. API servers refuse other certificates, so without it
// logs, exec and port-forward of the node's pods fail.
type KubeletServingStatusSpec struct {
	Ready bool `yaml:"ready" protobuf:"1"`
	// Reason why it is not ready.
	Reason string `yaml:"reason,omitempty" protobuf:"2"`
	// Authority is the SHA-256 fingerprint of the authority that signed it, ClientAuthority that of the authority of the kubelet's client
	// certificate. Both change when the authority of the cluster is replaced.
	Authority       string `yaml:"authority,omitempty" protobuf:"3"`
	ClientAuthority string `yaml:"clientAuthority,omitempty" protobuf:"4"`
}

// Definition implements resource.Spec.
func (KubeletServingStatusSpec) Definition() *resource.Definition { return kubeletServingDefinition }

var kubeletServingRequestDefinition = controlPlane.Type("KubeletServingRequests", "Requester={.requester}", "Reason={.reason}")

// KubeletServingRequestSpec is an undecided request for a kubelet's serving certificate that this control plane does not approve. Its id is the
// name of the CertificateSigningRequest.
type KubeletServingRequestSpec struct {
	Requester string `yaml:"requester" protobuf:"1"`
	Reason    string `yaml:"reason" protobuf:"2"`
}

// Definition implements resource.Spec.
func (KubeletServingRequestSpec) Definition() *resource.Definition {
	return kubeletServingRequestDefinition
}
