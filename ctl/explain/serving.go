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

// servingRule reads whether the kubelet can serve.
func servingRule(_ *Facts, s Symptom, status k8s.KubeletServingStatusSpec) *Finding {
	if status.Ready {
		return nil
	}

	return &Finding{
		Says:     "the kubelet has no certificate to serve with: logs, exec and port-forward of its pods fail",
		Evidence: []string{s.String() + ": " + status.Reason},
		Try: "see what becomes of its request: kubectl get csr --field-selector spec.signerName=kubernetes.io/kubelet-serving, and its events: " +
			"kubectl describe csr NAME; on a control plane node: talosctl get kubeletservingrequests",
	}
}

// servingRequestRule reads why a request for such a certificate is left alone.
func servingRequestRule(_ *Facts, s Symptom, request k8s.KubeletServingRequestSpec) *Finding {
	return &Finding{
		Says:     fmt.Sprintf("certificate signing request %s of %s is not approved: %s", s.ID, request.Requester, request.Reason),
		Evidence: []string{s.String() + ": nobody has approved or denied it"},
		Try: fmt.Sprintf("correct what it says, or decide about it yourself: kubectl certificate approve %s (or deny); "+
			"names and addresses of a Node are in talosctl get nodeidentities", s.ID),
	}
}
