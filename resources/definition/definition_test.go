// SPDX-License-Identifier: Apache-2.0

package definition_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/definition"
)

func TestType(t *testing.T) {
	domain := definition.Domain{Group: "net.talos.dev", Namespace: "network"}

	for name, tt := range map[string]struct{ got, want *resource.Definition }{
		"plain": {domain.Type("Links"), &resource.Definition{Type: "Links.net.talos.dev", DefaultNamespace: "network"}},
		"aliases, sensitivity and columns": {
			domain.Alias("pw").Sensitive().Type("Passwords", "Of={.user}", `Ready={.conditions[?(@.type=="Ready")].status}`),
			&resource.Definition{
				Type: "Passwords.net.talos.dev", DefaultNamespace: "network", Aliases: []string{"pw"}, Sensitivity: resource.Sensitive,
				PrintColumns: []resource.PrintColumn{
					{Name: "Of", JSONPath: "{.user}"}, {Name: "Ready", JSONPath: `{.conditions[?(@.type=="Ready")].status}`},
				},
			},
		},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s: definition (-want +got):\n%s", name, diff)
		}
	}
}
