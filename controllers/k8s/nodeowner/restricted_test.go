// SPDX-License-Identifier: Apache-2.0

package nodeowner

import (
	"testing"

	kubeletapis "k8s.io/kubelet/pkg/apis"
)

// TestRestricted compares the labels that a kubelet may set with those of Kubernetes.
func TestRestricted(t *testing.T) {
	keys := append(kubeletapis.KubeletLabels(), "node-restriction.kubernetes.io/a", "node-role.kubernetes.io/a", "a.k8s.io/b", "k8s.io/b", "kubernetes.io/b")

	for _, domain := range kubeletapis.KubeletLabelNamespaces() {
		keys = append(keys, domain+"/a", "b."+domain+"/a", "b"+domain+"/a")
	}

	for _, key := range keys {
		if got, want := restricted(key), !kubeletapis.IsKubeletLabel(key); got != want {
			t.Errorf("%s: got restricted %t, want %t", key, got, want)
		}
	}

	for _, key := range []string{"a", "example.org/a", "notkubernetes.io/a"} {
		if restricted(key) {
			t.Errorf("%s: got restricted", key)
		}
	}

	if len(keys) < 15 {
		t.Errorf("compared only %d labels", len(keys))
	}
}
