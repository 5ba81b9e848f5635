// SPDX-License-Identifier: Apache-2.0

package patch_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/documents/network"
	"github.com/seed-59268b81/talos/config/patch"
	"github.com/seed-59268b81/talos/config/view"
)

const target = `# the machine in the corner
version: v1alpha1
machine:
    type: worker # for now
    certSANs:
        - a.example
    sysctls:
        a: "1"
        b: "2"
    install:
        wipe: true
    network:
        hostname: old
        interfaces:
            - interface: eth0
              mtu: 1400
              addresses:
                - 192.0.2.1/24
              vlans:
                - vlanId: 10
                  mtu: 1300
            - deviceSelector:
                driver: virtio
              dhcp: true
    kubelet:
        extraArgs:
            v: "2"
        extraConfig:
            maxPods: 100
            evictionHard:
                a: 1%
cluster:
    network:
        podSubnets:
            - 10.244.0.0/16
    apiServer:
        admissionControl:
            - name: PodSecurity
              configuration:
                kind: PodSecurityConfiguration
                exemptions:
                    namespaces: [kube-system]
        auditPolicy:
            kind: Policy
            rules:
                - level: Metadata
`

const hostname = `---
apiVersion: v1alpha1
kind: HostnameConfig
auto: stable # by identity
`

// changed returns text with parts replaced, in pairs of old and new.
func changed(t *testing.T, text string, pairs ...string) string {
	t.Helper()

	for i := 0; i < len(pairs); i += 2 {
		if strings.Count(text, pairs[i]) != 1 {
			t.Fatalf("%q is not exactly once in the target", pairs[i])
		}

		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}

	return text
}

func TestApply(t *testing.T) {
	both := target + hostname

	for _, test := range []struct {
		name, patch, want string
	}{
		{"value replaces", "machine: {type: controlplane}", changed(t, both, "type: worker # for now", "type: controlplane")},
		{"empty string does not", `machine: {network: {hostname: ""}}`, both},
		{"zero does not", "machine: {network: {interfaces: [{interface: eth0, mtu: 0}]}}", both},
		{"null does not", "machine: {network: null}", both},
		{"false does", "machine: {install: {wipe: false}}", changed(t, both, "wipe: true", "wipe: false")},
		{"map merges", "machine: {sysctls: {b: '3', c: ''}}", changed(t, both, `b: "2"`, "b: '3'\n        c: ''")},
		{"list is appended", "machine: {certSANs: [b.example]}", changed(t, both, "- a.example", "- a.example\n        - b.example")},
		{"subnets replace", "cluster: {network: {podSubnets: [10.1.0.0/16]}}", changed(t, both, "10.244.0.0/16", "10.1.0.0/16")},
		{"blob replaces", "cluster: {apiServer: {auditPolicy: {kind: Policy, rules: []}}}", changed(t, both,
			"kind: Policy\n            rules:\n                - level: Metadata", "kind: Policy\n            rules: []")},
		{"free-form merges", "machine: {kubelet: {extraConfig: {maxPods: 200, evictionHard: {b: 2%}}}}", changed(t, both,
			"maxPods: 100", "maxPods: 200", "a: 1%", "a: 1%\n                b: 2%")},
		{"flag replaces", "machine: {kubelet: {extraArgs: {v: [4, 5]}}}", changed(t, both, `v: "2"`, "v:\n                - 4\n                - 5")},
		{"interface by name", "machine: {network: {interfaces: [{interface: eth0, mtu: 9000, addresses: [192.0.2.2/24]}]}}", changed(t, both,
			"mtu: 1400", "mtu: 9000", "- 192.0.2.1/24", "- 192.0.2.1/24\n                - 192.0.2.2/24")},
		{"interface by selector", "machine: {network: {interfaces: [{deviceSelector: {driver: virtio}, dhcp: false}]}}", changed(t, both, "dhcp: true", "dhcp: false")},
		{"another interface", "machine: {network: {interfaces: [{interface: eth1}]}}", changed(t, both, "              dhcp: true\n", "              dhcp: true\n            - interface: eth1\n")},
		{"VLAN by tag", "machine: {network: {interfaces: [{interface: eth0, vlans: [{vlanId: 10, mtu: 1200}, {vlanId: 11}]}]}}", changed(t, both,
			"mtu: 1300", "mtu: 1200\n                - vlanId: 11")},
		{"plugin by name", "cluster: {apiServer: {admissionControl: [{name: PodSecurity, configuration: {exemptions: {namespaces: [mine]}}}]}}", changed(t, both,
			"[kube-system]", "[kube-system, mine]")},
		{"document merges", "apiVersion: v1alpha1\nkind: HostnameConfig\nauto: off\n", changed(t, both, "stable # by identity", "off")},
		{"new key", "cluster: {clusterName: demo}", both[:strings.Index(both, "---")] + "    clusterName: demo\n" + hostname},
		{"JSON", `{"machine": {"certSANs": ["b.example"]}}`, changed(t, both, "- a.example", "- a.example\n        - b.example")},

		{"delete a key", "machine: {sysctls: {a: {$patch: delete}}}", changed(t, both, "        a: \"1\"\n", "")},
		{"delete an object", "machine: {kubelet: {$patch: delete}}", both[:strings.Index(both, "    kubelet")] + both[strings.Index(both, "cluster:"):]},
		{"delete an element", "machine: {network: {interfaces: [{interface: eth0, $patch: delete}]}}", both[:strings.Index(both, "            - interface: eth0")] + both[strings.Index(both, "            - deviceSelector"):]},
		{"delete a document", "apiVersion: v1alpha1\nkind: HostnameConfig\n$patch: delete\n", target},
		{"delete a key that does not exist", "machine: {sysctls: {z: {$patch: delete}}, network: {interfaces: [{interface: eth9, $patch: delete}]}}", both},

		{"operation: replace", `[{"op": "replace", "path": "/machine/type", "value": "controlplane"}]`, changed(t, both, "type: worker # for now", "type: controlplane # for now")},
		{"operation: add", `[{"op": "add", "path": "/machine/certSANs/-", "value": "b.example"}]`, changed(t, both, "- a.example", "- a.example\n        - b.example")},
		{"operation: add an object", "- op: add\n  path: /cluster/etcd\n  value: {advertisedSubnets: [10.0.0.0/8]}\n",
			both[:strings.Index(both, "---")] + "    etcd:\n        advertisedSubnets:\n            - 10.0.0.0/8\n" + hostname},
		{"operation: a kind", `[{"op": "add", "path": "/HostnameConfig/hostname", "value": "one"}]`, both + "hostname: one\n"},
		{"operation: a kind and the v1alpha1 document", `[{"op": "test", "path": "/HostnameConfig/auto", "value": "stable"}, {"op": "replace", "path": "/machine/type", "value": "controlplane"}]`, changed(t, both, "type: worker # for now", "type: controlplane # for now")},
		{"operation: add a document with a name", `[{"op": "add", "path": "/LinkConfig/eth0", "value": {"mtu": 9000}}]`, both + "---\napiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\nmtu: 9000\n"},
		{"operation: copy a document", `[{"op": "add", "path": "/LinkConfig/eth0", "value": {"mtu": 9000}}, {"op": "copy", "from": "/LinkConfig/eth0", "path": "/LinkConfig/a~1b"}, {"op": "remove", "path": "/LinkConfig/eth0"}]`, both + "---\napiVersion: v1alpha1\nkind: LinkConfig\nname: a/b\nmtu: 9000\n"},
		{"operation: remove", `[{"op": "remove", "path": "/machine/sysctls/a"}]`, changed(t, both, "        a: \"1\"\n", "")},
		{"operation: test, then replace", `[{"op": "test", "path": "/machine/type", "value": "worker"}, {"op": "replace", "path": "/machine/sysctls/a", "value": "9"}]`, changed(t, both, `a: "1"`, `a: "9"`)},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := patch.Parse([]byte(test.patch))
			if err != nil {
				t.Fatal(err)
			}

			got, err := patch.Apply([]byte(both), p)
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("patched (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAppendDocument(t *testing.T) {
	p, err := patch.Parse([]byte("machine: {type: worker}\n---\n" + hostname))
	if err != nil {
		t.Fatal(err)
	}

	got, err := patch.Apply([]byte(target), p)
	if err != nil {
		t.Fatal(err)
	}

	cfg, err := config.Decode(got)
	if err != nil {
		t.Fatal(err)
	}

	if doc := config.Find[*network.HostnameConfig](cfg); doc == nil || doc.Auto != "stable" {
		t.Errorf("got no HostnameConfig in\n%s", got)
	}
}

// A change in one place must not change others that share an alias.
func TestAliases(t *testing.T) {
	const text = `machine:
    network:
        interfaces:
            - &one
              interface: eth0
              addresses: &list [192.0.2.1/24]
            - <<: *one
              interface: eth1
            - interface: eth2
              addresses: *list
`

	p, err := patch.Parse([]byte("machine: {network: {interfaces: [{interface: eth1, addresses: [192.0.2.2/24]}]}}"))
	if err != nil {
		t.Fatal(err)
	}

	got, err := patch.Apply([]byte(text), p)
	if err != nil {
		t.Fatal(err)
	}

	cfg, err := config.Decode(got)
	if err != nil {
		t.Fatal(err)
	}

	var addresses [][]string

	for _, link := range view.Of(cfg).Links() {
		var own []string
		for _, a := range link.Addresses {
			own = append(own, a.Address)
		}

		addresses = append(addresses, own)
	}

	want := [][]string{{"192.0.2.1/24"}, {"192.0.2.1/24", "192.0.2.2/24"}, {"192.0.2.1/24"}}
	if diff := cmp.Diff(want, addresses); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

func TestNoPatchesNoChange(t *testing.T) {
	text := []byte("machine:   {type: worker}   # as it was\n")

	got, err := patch.Apply(text)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(string(text), string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "patch.yaml")
	if err := os.WriteFile(path, []byte("machine: {type: controlplane}\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	patches, err := patch.Load([]string{"@" + path, `[{"op": "remove", "path": "/machine/sysctls"}]`})
	if err != nil {
		t.Fatal(err)
	}

	got, err := patch.Apply([]byte(target), patches...)
	if err != nil {
		t.Fatal(err)
	}

	if !strings.Contains(string(got), "type: controlplane") || strings.Contains(string(got), "sysctls") {
		t.Errorf("got\n%s", got)
	}
}

func TestRefuses(t *testing.T) {
	for _, test := range []struct {
		name, target, patch, want string
	}{
		{"nothing", target, "  ", "empty"},
		{"no such file", target, "@/does/not/exist", "/does/not/exist"},
		{"misspelt key", target, "machine:\n  sysctl: {}\n", `line 2:3, machine.sysctl: unknown key; did you mean "sysctls"?`},
		{"wrong type", target, "machine: {certSANs: {a: b}}", "want a list"},
		{"unknown mark", target, "machine: {sysctls: {a: b, $patch: replace}}", `line 1:27: unknown "$patch: replace": want delete`},
		{"unknown kind", target, "apiVersion: v1alpha1\nkind: Nothing\n", "unknown kind"},
		{"unknown operation", target, `[{"op": "change", "path": "/a"}]`, `"change"`},
		{"not operations", target, `[1, 2]`, "want a list of {op, path, value}"},
		{"operation without path", target, `[{"op": "remove"}]`, "missing path"},
		{"missing path", target, `[{"op": "remove", "path": "/machine/none"}]`, "/machine/none"},
		{"failed test", target, `[{"op": "test", "path": "/machine/type", "value": "x"}]`, "test"},
		{"result that is not valid", target, `[{"op": "add", "path": "/machine/nonsense", "value": 1}]`, "after the patch"},
		{"a missing document", target, `[{"op": "replace", "path": "/LinkConfig/eth9/mtu", "value": 9}]`, "/LinkConfig/eth9/mtu"},
		{"a document that is not an object", target, `[{"op": "add", "path": "/LinkConfig/eth0", "value": 9}]`, "/LinkConfig/eth0: want an object"},
		{"a document with its kind", target, `[{"op": "add", "path": "/LinkConfig/eth0", "value": {"kind": "LinkConfig"}}]`, "leave out kind"},
		{"a kind of names with a value", target, `[{"op": "add", "path": "/LinkConfig", "value": 9}]`, "/LinkConfig: want an object of documents"},
		{"an unknown key of a kind", target, `[{"op": "add", "path": "/LinkConfig/eth0", "value": {"colour": 1}}]`, "after the patch"},
		{"kinds and a missing v1alpha1 document", hostname, `[{"op": "add", "path": "/machine", "value": {}}, {"op": "remove", "path": "/HostnameConfig/auto"}]`, "v1alpha1 document"},
		{"operations on kinds alone", hostname, `[{"op": "remove", "path": "/machine"}]`, "v1alpha1 document"},
		{"no configuration", "", "machine: {type: worker}", "before the patch"},
	} {
		t.Run(test.name, func(t *testing.T) {
			patches, err := patch.Load([]string{test.patch})
			if err == nil {
				_, err = patch.Apply([]byte(test.target), patches...)
			}

			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
}

func FuzzPatch(f *testing.F) {
	f.Add([]byte(target), []byte("machine: {sysctls: {a: {$patch: delete}}}"))
	f.Add([]byte(target+hostname), []byte("apiVersion: v1alpha1\nkind: HostnameConfig\n$patch: delete\n"))
	f.Add(configtest.ControlPlane(f), []byte(`[{"op": "copy", "from": "/machine", "path": "/cluster"}]`))
	f.Add([]byte("machine: &a {kubelet: {extraConfig: {x: *a}}}"), []byte("machine: {pods: [{<<: {a: b}}]}"))
	f.Add([]byte("machine: {}"), []byte("machine: {network: {interfaces: [{$patch: delete}, {vlans: [null]}]}}"))

	f.Fuzz(func(t *testing.T, text, change []byte) {
		p, err := patch.Parse(change)
		if err != nil {
			return
		}

		got, err := patch.Apply(text, p)
		if err != nil {
			return
		}

		if _, err := config.Decode(got); err != nil {
			t.Fatalf("the result cannot be decoded: %v\n%s", err, got)
		}
	})
}
