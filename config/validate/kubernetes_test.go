// SPDX-License-Identifier: Apache-2.0

package validate_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/validate"
)

// TestKubernetesDocuments checks documents about Kubernetes beside the keys that they replace.
func TestKubernetesDocuments(t *testing.T) {
	const (
		noSecret   = "cluster: {secretboxEncryptionSecret: {$patch: delete}}"
		encryption = "apiVersion: v1alpha1\nkind: KubeEtcdEncryptionConfig\nconfig: {kind: EncryptionConfiguration}\n"
		flannel    = "apiVersion: v1alpha1\nkind: KubeFlannelCNIConfig\n"
	)

	for name, tt := range map[string]struct {
		patches []string
		want    string // part of a finding; empty if there is none
	}{
		"encryption by a document": {[]string{noSecret, encryption}, ""},
		"encryption by neither":    {[]string{noSecret}, "cluster.secretboxEncryptionSecret: is missing"},
		"encryption by both":       {[]string{encryption}, "the KubeEtcdEncryptionConfig document sets this too"},
		"network policies":         {[]string{flannel + "kubeNetworkPoliciesEnabled: true\n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := validate.Validate(patched(t, configtest.ControlPlane(t), tt.patches...), validate.Metal)

			var findings validate.Findings

			errors.As(err, &findings)

			found := false
			for _, finding := range findings {
				found = found || tt.want != "" && strings.Contains(finding.Error(), tt.want)
			}

			if tt.want == "" && err != nil || tt.want != "" && !found {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
