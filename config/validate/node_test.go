// SPDX-License-Identifier: Apache-2.0

package validate_test

import (
	"errors"
	"strings"
	"testing"

	kubeletapis "k8s.io/kubelet/pkg/apis"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/validate"
)

// TestRestrictedLabel compares the labels that a kubelet may set with those of Kubernetes.
func TestRestrictedLabel(t *testing.T) {
	keys := append(kubeletapis.KubeletLabels(), "node-restriction.kubernetes.io/a", "node-role.kubernetes.io/a", "a.k8s.io/b", "k8s.io/b", "kubernetes.io/b")

	for _, domain := range kubeletapis.KubeletLabelNamespaces() {
		keys = append(keys, domain+"/a", "b."+domain+"/a", "b"+domain+"/a")
	}

	for _, key := range keys {
		if got, want := validate.RestrictedLabel(key), !kubeletapis.IsKubeletLabel(key); got != want {
			t.Errorf("%s: got restricted %t, want %t", key, got, want)
		}
	}

	for _, key := range []string{"a", "example.org/a", "notkubernetes.io/a"} {
		if validate.RestrictedLabel(key) {
			t.Errorf("%s: got restricted", key)
		}
	}

	if len(keys) < 15 {
		t.Errorf("compared only %d labels", len(keys))
	}
}

// TestChangeOfNode: a change of what only another than the worker may change on its Node gives a warning.
func TestChangeOfNode(t *testing.T) {
	const (
		worker   = "version: v1alpha1\nmachine: {type: worker"
		plane    = "version: v1alpha1\nmachine: {type: controlplane"
		taint    = ", nodeTaints: {dedicated: 'db:NoSchedule'}"
		role     = ", nodeLabels: {rack: a, node-role.kubernetes.io/db: ''}"
		label    = ", nodeLabels: {rack: a, topology.kubernetes.io/zone: z}"
		document = "---\napiVersion: v1alpha1\nkind: KubeNodeConfig\n"
		end      = "}\n"
	)

	for _, test := range []struct {
		name, from, to string
		want           []string
	}{
		{"no change", worker + taint + end, worker + taint + end, nil},
		{"a taint more", worker + end, worker + taint + end, []string{"dedicated: taints of a worker"}},
		{"a taint less", worker + taint + end, worker + end, []string{"dedicated: taints of a worker"}},
		{"another taint", worker + taint + end, worker + strings.Replace(taint, "db:", "web:", 1) + end, []string{"dedicated: taints of a worker"}},
		{"taints of a document", worker + end, worker + end + document + "taints: {dedicated: 'db:NoSchedule'}\n", []string{"dedicated: taints of a worker"}},
		{"the taint moves to a document", worker + taint + end, worker + end + document + "taints: {dedicated: 'db:NoSchedule'}\n", nil},
		{"a role", worker + end, worker + role + end, []string{"labels: node-role.kubernetes.io/db: Kubernetes does not"}},
		{"a role less", worker + role + end, worker + end, []string{"labels: node-role.kubernetes.io/db: Kubernetes does not"}},
		{"both", worker + end, worker + taint + role + end, []string{"taints of a worker", "Kubernetes does not"}},
		{"a label of kubelets", worker + end, worker + label + end, nil},
		{"a control plane", plane + end, plane + taint + role + end, nil},
	} {
		from, err1 := config.Decode([]byte(test.from))
		to, err2 := config.Decode([]byte(test.to))

		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}

		warnings, err := validate.Change(from, to)
		if err != nil || len(warnings) != len(test.want) {
			t.Errorf("%s: got the warnings %q, %v, want %d", test.name, warnings, err, len(test.want))

			continue
		}

		for i, want := range test.want {
			if !strings.Contains(warnings[i], want) {
				t.Errorf("%s: got the warning %q, want %q in it", test.name, warnings[i], want)
			}
		}
	}
}
