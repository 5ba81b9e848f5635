// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"

	"github.com/seed-59268b81/talos/resources/k8s"
)

// serving returns the serving certificates of kubelets that are not signed: this node's own, and on a control plane those of all nodes.
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

// servingRule explains a kubelet without a serving certificate.
func servingRule(_ *Facts, s Symptom, status k8s.KubeletServingStatusSpec) *Finding {
	if status.Ready {
		return nil
	}

	return &Finding{
		Says:     "the kubelet has no certificate to serve with: logs, exec and port-forward of its pods fail",
		Evidence: []string{s.String() + ": " + status.Reason},
		Try: "see the state of its request: kubectl get csr --field-selector spec.signerName=kubernetes.io/kubelet-serving, and its events: " +
			"kubectl describe csr NAME; on a control plane node: talosctl get kubeletservingrequests",
	}
}

// servingRequestRule explains a request for such a certificate that is pending.
func servingRequestRule(_ *Facts, s Symptom, request k8s.KubeletServingRequestSpec) *Finding {
	return &Finding{
		Says:     fmt.Sprintf("certificate signing request %s of %s is not approved: %s", s.ID, request.Requester, request.Reason),
		Evidence: []string{s.String() + ": it is neither approved nor denied"},
		Try: fmt.Sprintf("correct the request, or decide about it: kubectl certificate approve %s (or deny); "+
			"names and addresses of a Node are in talosctl get nodeidentities", s.ID),
	}
}
