// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/plan"
)

func decode(t *testing.T, text string) *config.Config {
	t.Helper()

	cfg, err := config.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}

	return cfg
}

func TestCompare(t *testing.T) {
	const base = `machine:
    type: worker
    certSANs: [a]
    nodeLabels:
        x: ""
`

	for _, test := range []struct {
		name, from, to string
		changed, vain  []string
		empty          bool
	}{
		{"same", base, base, nil, nil, true},
		{"a comment", base, base + "# said\n", nil, nil, false},
		{"a value", base, base + "    token: t\n", []string{"machine.token"}, nil, false},
		{"a value back", base + "    token: t\n", base, []string{"machine.token"}, nil, false},
		{"a list", base, base + "    sysctls: {a.b: '1'}\n", []string{`machine.sysctls["a.b"]`}, nil, false},
		{"an empty label", base, base + "        y: \"\"\n", []string{"machine.nodeLabels.y"}, nil, false},
		{"a switch", base, base + "    install: {legacyBIOSSupport: false}\n", []string{"machine.install.legacyBIOSSupport"}, []string{"machine.install.legacyBIOSSupport"}, false},
		{"free-form", base, base + "    kubelet: {extraConfig: {a: {b: [1]}}}\n", []string{"machine.kubelet.extraConfig.a.b[0]"}, nil, false},
		{"another document", base, base + "---\napiVersion: v1alpha1\nkind: HostnameConfig\nhostname: n\n",
			[]string{"HostnameConfig.apiVersion", "HostnameConfig.hostname", "HostnameConfig.kind"}, nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := plan.Compare(decode(t, test.from), decode(t, test.to))

			if diff := cmp.Diff(test.changed, got.Changed); diff != "" {
				t.Errorf("changed (-want +got):\n%s", diff)
			}

			if diff := cmp.Diff(test.vain, got.InVain); diff != "" {
				t.Errorf("in vain (-want +got):\n%s", diff)
			}

			if got.Empty() != test.empty {
				t.Errorf("empty: got %t, want %t", got.Empty(), test.empty)
			}
		})
	}
}

func TestDiff(t *testing.T) {
	got := plan.Compare(decode(t, "machine:\n    type: worker\n"), decode(t, "machine:\n    type: controlplane\n")).Diff
	want := "--- a\n+++ b\n@@ -1,2 +1,2 @@\n machine:\n-    type: worker\n+    type: controlplane\n"

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("diff (-want +got):\n%s", diff)
	}
}

func TestFromNothing(t *testing.T) {
	got := plan.Compare(nil, decode(t, "machine:\n    type: worker\n"))

	if diff := cmp.Diff([]string{"machine.type"}, got.Changed); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
}
