// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/patch"
	"github.com/seed-59268b81/talos/config/validate"
	"github.com/seed-59268b81/talos/controllers/validation"
)

// TestConfig holds that findings of all checks are combined, and that configurations of existing clients are valid.
func TestConfig(t *testing.T) {
	for name, test := range map[string]struct {
		patch string
		want  []string
	}{
		"a generated one": {},
		"etcd":            {patch: "cluster: {etcd: {extraArgs: {config-file: /x}}}", want: []string{"cluster.etcd: etcd: extra argument \"config-file\""}},
		"an alias": {
			patch: "apiVersion: v1alpha1\nkind: LinkAliasConfig\nname: net0\nselector: {match: link.nothing == 7}\n",
			want:  []string{"LinkAliasConfig[net0].selector.match: expression \"link.nothing == 7\""},
		},
		"an expression about memory": {
			patch: "apiVersion: v1alpha1\nkind: OOMConfig\ntriggerExpression: memory_full > 12.0\n",
			want:  []string{"OOMConfig.triggerExpression: expression \"memory_full > 12.0\""},
		},
		"all of them": {
			patch: "{machine: {kubelet: {extraArgs: {cert-dir: x}}, sysctls: {'a b': c}}, cluster: {apiServer: {extraArgs: {etcd-servers: b}}, etcd: {extraArgs: {data-dir: /x}}}}",
			want:  []string{"cluster.apiServer.extraArgs", "cluster.etcd", "machine.kubelet.extraArgs", "machine.sysctls"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := configtest.ControlPlane(t)

			if test.patch != "" {
				loaded, err := patch.Load([]string{test.patch})
				if err != nil {
					t.Fatal(err)
				}

				if text, err = patch.Apply(text, loaded...); err != nil {
					t.Fatal(err)
				}
			}

			cfg, err := config.Decode(text)
			if err != nil {
				t.Fatal(err)
			}

			_, err = validation.Config(cfg, validate.Metal)
			findings, _ := err.(validate.Findings) // it is not wrapped

			if len(findings) != len(test.want) || err != nil && findings == nil {
				t.Fatalf("got %v, want %q", err, test.want)
			}

			for i, want := range test.want {
				if !strings.HasPrefix(findings[i].Error(), want) {
					t.Errorf("finding %d: got %q, want %q", i, findings[i], want)
				}
			}
		})
	}
}
