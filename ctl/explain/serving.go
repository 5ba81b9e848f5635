// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"

	"github.com/seed-59268b81/talos/resources/k8s"
)

// serving are the certificates that kubelets serve with and that nobody has signed: this node's, and on a control plane those of all.
func serving(f *Facts) []Symptom {
	var out []Symptom

	for _, s := range all[k8s.KubeletServingStatusSpec](f, k8s.NamespaceName) {
		if !s.spec.Ready {
			out = append(out, instance[k8s.KubeletServingStatusSpec](k8s.NamespaceName, s.ID))
		}
	}

	for _, r := range all[k8s.KubeletServingRequestSpec](f, k8s.ControlPlaneNamespace) {
		out = append(out, instance[k8s.KubeletServingRequestSpec](k8s.ControlPlaneNamespace, r.ID))
	}

	return out
}

// servingRule reads whether the kubelet can serve, and which requests are left alone.
func servingRule(f *Facts, s Symptom) (*Finding, bool) {
	if s.Kind != InstanceOf {
		return nil, false
	}

	full := name(s.Type, s.Namespace, s.ID)

	switch s.Type {
	case typeOf[k8s.KubeletServingStatusSpec]():
		status, ok := find[k8s.KubeletServingStatusSpec](f, s.ID)
		if !ok {
			return nil, false
		}

		if status.Ready {
			return nil, true
		}

		return &Finding{
			Says:     "the kubelet has no certificate to serve with: logs, exec and port-forward of its pods fail",
			Evidence: []string{full + ": " + status.Reason},
			Try: "see what becomes of its request: kubectl get csr --field-selector spec.signerName=kubernetes.io/kubelet-serving, and its events: " +
				"kubectl describe csr NAME; on a control plane node: talosctl get kubeletservingrequests",
		}, true
	case typeOf[k8s.KubeletServingRequestSpec]():
		request, ok := find[k8s.KubeletServingRequestSpec](f, s.ID)
		if !ok {
			return nil, false
		}

		return &Finding{
			Says:     fmt.Sprintf("certificate signing request %s of %s is not approved: %s", s.ID, request.Requester, request.Reason),
			Evidence: []string{full + ": nobody has approved or denied it"},
			Try: fmt.Sprintf("correct what it says, or decide about it yourself: kubectl certificate approve %s (or deny); "+
				"names and addresses of a Node are in talosctl get nodeidentities", s.ID),
		}, true
	default:
		return nil, false
	}
}
