// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/documents/network"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/config/view"
)

func TestDecodeExamples(t *testing.T) {
	text := configtest.ControlPlane(t)

	cfg, err := config.Decode(text)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(text, cfg.Bytes()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}

	main := config.Find[*v1alpha1.Config](cfg)
	machine, cluster := &main.Machine, &main.Cluster

	if got, want := machine.Type, v1alpha1.TypeControlPlane; got != want {
		t.Errorf("type: got %q, want %q", got, want)
	}

	if got, want := machine.CA.Key, configtest.Bundle(t).Certs.OS.Key; string(got) != string(want) {
		t.Errorf("machine.ca.key: got %q, want %q", got, want)
	}

	if got, want := cluster.ControlPlane.Endpoint.String(), "https://10.5.0.2:6443"; got != want {
		t.Errorf("endpoint: got %q, want %q", got, want)
	}

	if got, want := view.Of(cfg).PodSubnets(), []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}; !cmp.Equal(got, want, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })) {
		t.Errorf("pod subnets: got %v, want %v", got, want)
	}

	if got, want := cluster.APIServer.AdmissionControl[0].Configuration["kind"], "PodSecurityConfiguration"; got != want {
		t.Errorf("admission: got %v, want %v", got, want)
	}

	if got, want := config.Find[*network.HostnameConfig](cfg).Auto, network.AutoHostnameStable; got != want {
		t.Errorf("hostname: got %q, want %q", got, want)
	}

	cfg, err = config.Decode(configtest.Worker(t))
	if err != nil {
		t.Fatal(err)
	}

	if got, want := view.Of(cfg).Type(), v1alpha1.TypeWorker; got != want {
		t.Errorf("type: got %q, want %q", got, want)
	}
}

func TestDecodeProblems(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string // parts of the message
	}{
		{"empty", "", []string{"is empty", "gen config"}},
		{"only comments", "# nothing\n---\n---\n# more\n", []string{"is empty"}},
		{"null documents", "---\nnull\n---\n~\n", []string{"is empty"}},
		{"not YAML", "machine: [", []string{"not YAML", "line"}},
		{"a tab", "machine:\n\ttype: worker\n", []string{"not YAML", "line"}},
		{"a scalar", "hello", []string{"line 1:1", "must be an object"}},
		{"misspelt key", "machine:\n  tipe: worker\n", []string{"v1alpha1 document", "line 2:3", "machine.tipe", `did you mean "time" or "type"?`}},
		{"key elsewhere", "cluster:\n  kubelet: {}\n", []string{"line 2:3", "cluster.kubelet", "belongs under machine"}},
		{"unknown top key", "machine: {}\nclutser: {}\n", []string{"line 2:1", `did you mean "cluster"?`}},
		{"wrong type", "machine:\n  certSANs: yes\n", []string{"line 2:13", "machine.certSANs", "want a list", `got the string "yes"`}},
		{"object for string", "machine:\n  token: {a: b}\n", []string{"machine.token", "want a string, got an object"}},
		{"string for bool", "machine:\n  install:\n    wipe: perhaps\n", []string{"line 3:11", "want true or false", `"perhaps"`}},
		{"quoted number", "cluster:\n  controlPlane:\n    localAPIServerPort: \"6443\"\n", []string{"want a whole number", "remove the quotes"}},
		{"number out of range", "machine:\n  network:\n    interfaces:\n      - interface: eth0\n        vlans:\n          - vlanId: 70000\n", []string{"machine.network.interfaces[0].vlans[0].vlanId", "from 0 to 65535"}},
		{"bad network", "cluster:\n  network:\n    podSubnets:\n      - 10.244.0.0/99\n", []string{"line 4:9", "cluster.network.podSubnets[0]", "10.244.0.0/99"}},
		{"bad duration", "machine:\n  time:\n    bootTimeout: soon\n", []string{"a duration", `"soon"`}},
		{"bad base64", "machine:\n  ca:\n    crt: '%%%'\n", []string{"machine.ca.crt", "not base64"}},
		{"bad endpoint", "cluster:\n  controlPlane:\n    endpoint: 10.5.0.2:6443\n", []string{"cluster.controlPlane.endpoint", "URL"}},
		{"bad machine type", "machine:\n  type: master\n", []string{"machine.type", "want controlplane or worker"}},
		{"key twice", "machine:\n  type: worker\n  type: worker\n", []string{"line 3:3", "duplicate key, first on line 2"}},
		{"bad version", "version: v2\nmachine: {}\n", []string{"version", `"v2"`}},
		{"document twice", "machine: {}\n---\nmachine: {}\n", []string{"duplicate document, first on line 1", "line 3"}},
		{"kind twice", "apiVersion: v1alpha1\nkind: HostnameConfig\nauto: off\n---\napiVersion: v1alpha1\nkind: HostnameConfig\n", []string{"HostnameConfig document", "duplicate"}},
		{"unknown kind", "apiVersion: v1alpha1\nkind: HostnamConfig\n", []string{"line 2", `"HostnamConfig"`, `did you mean "HostnameConfig"`}},
		{"Kubernetes object", "apiVersion: v1\nkind: Pod\n", []string{`"Pod"`, "needs apiVersion: v1alpha1"}},
		{"no kind", "apiVersion: v1alpha1\nauto: off\n", []string{"neither a kind nor"}},
		{"unknown key in a kind", "apiVersion: v1alpha1\nkind: HostnameConfig\nhostnme: a\n", []string{"HostnameConfig document, line 3:1", `did you mean "hostname"?`}},
		{"an alias that contains itself", "machine:\n  kubelet:\n    extraConfig: &a\n      b: *a\n", []string{"line 4:7", "nests or repeats too much"}},
		{"infinite number", "machine:\n  kubelet:\n    extraConfig:\n      a: .inf\n", []string{"JSON", "quote it"}},
		{"several problems", "machine:\n  tipe: worker\n  token: []\n", []string{"2 problems", "machine.tipe", "machine.token"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := config.Decode([]byte(test.text))
			if err == nil {
				t.Fatal("got no error")
			}

			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want %q in it", err, want)
				}
			}
		})
	}
}

func TestDecodeEmptyMatches(t *testing.T) {
	if _, err := config.Decode([]byte(" \n")); !errors.Is(err, config.ErrEmpty) {
		t.Errorf("got %v, want %v", err, config.ErrEmpty)
	}
}

func TestDecodeValues(t *testing.T) {
	cfg, err := config.Decode([]byte(`
# a comment before
machine:
  type: worker
  sysctls:
    net.ipv4.ip_forward: 1
  files:
    - {content: x, permissions: 0o600, path: /var/x, op: create}
    - {content: x, permissions: 0644, path: /var/y, op: create}
  time: &time
    bootTimeout: 2m
  kubelet:
    extraArgs:
      v: 4
      feature-gates: [A=true, B=true]
    extraConfig:
      maxPods: 200
      since: 2026-01-02
      nothing: null
      list: [1, 2.5, yes, "no"]
  network:
    hostname: null
---
null
---
apiVersion: v1alpha1
kind: HostnameConfig
hostname: node
`))
	if err != nil {
		t.Fatal(err)
	}

	machine := config.Find[*v1alpha1.Config](cfg).Machine

	got := []any{machine.Sysctls, machine.Files[0].Permissions, machine.Files[1].Permissions, machine.Time.BootTimeout.String(),
		machine.Kubelet.ExtraArgs, machine.Kubelet.ExtraConfig, machine.Network.Hostname, len(cfg.Documents()), view.Of(cfg).Complete()}
	want := []any{map[string]string{"net.ipv4.ip_forward": "1"}, v1alpha1.FileMode(0o600), v1alpha1.FileMode(0o644), "2m0s",
		v1alpha1.ExtraArgs{"v": {"4"}, "feature-gates": {"A=true", "B=true"}},
		v1alpha1.Object{"maxPods": int64(200), "since": "2026-01-02", "nothing": nil, "list": []any{int64(1), 2.5, "yes", "no"}},
		"", 2, true}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestDecodeMergeKeys(t *testing.T) {
	cfg, err := config.Decode([]byte(`
machine:
  network:
    interfaces:
      - &first {interface: eth0, mtu: 1400, dhcp: true}
      - <<: *first
        interface: eth1
`))
	if err != nil {
		t.Fatal(err)
	}

	second := view.Of(cfg).Links()[1]

	if second.Name != "eth1" || second.MTU != 1400 || second.DHCP4 == nil {
		t.Errorf("got %+v, want eth1 with the mtu and dhcp of eth0", second)
	}
}

// A few bytes of aliases expand to billions of values: the decoder must stop early.
func TestDecodeAliasBomb(t *testing.T) {
	var b strings.Builder

	b.WriteString("machine:\n  kubelet:\n    extraConfig:\n      a0: &a0 [x, x, x, x, x, x, x, x, x]\n")

	for i := 1; i < 12; i++ {
		prev := strings.Repeat(", *a"+string(rune('0'+(i-1)%10)), 9)[2:]
		b.WriteString("      a" + string(rune('0'+i%10)) + ": &a" + string(rune('0'+i%10)) + " [" + prev + "]\n")
	}

	if _, err := config.Decode([]byte(b.String())); err == nil {
		t.Error("got no error")
	}
}

func TestEncodeRoundTrip(t *testing.T) {
	cfg, err := config.Decode(configtest.ControlPlane(t))
	if err != nil {
		t.Fatal(err)
	}

	text, err := config.Encode(cfg.Documents()...)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(string(configtest.ControlPlane(t))+"\n", string(text)); diff != "" && strings.TrimSpace(string(text)) != strings.TrimSpace(string(configtest.ControlPlane(t))) {
		t.Errorf("encoded (-want +got):\n%s", diff)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(configtest.ControlPlane(f))
	f.Add(configtest.Worker(f))

	for _, seed := range []string{
		"", "machine: &a\n  kubelet: *a\n", "machine: {<<: [*x]}", "? [a]: b", "<<: {machine: {}}", "machine:\n  pods: [{a: .nan}]\n",
		"kind: HostnameConfig\napiVersion: v1alpha1\nhostname: {}\n", "--- !!binary aGk=\n", "machine: !foo bar\n", "machine:\n- &a [*a]\n",
	} {
		f.Add([]byte(seed))
	}

	f.Fuzz(func(t *testing.T, text []byte) {
		cfg, err := config.Decode(text)
		if err != nil {
			if err.Error() == "" {
				t.Error("got an error without a message")
			}

			return
		}

		again, err := config.Encode(cfg.Documents()...)
		if err != nil {
			t.Fatalf("encode: %v", err)
		}

		if _, err := config.Decode(again); err != nil {
			t.Fatalf("decode again: %v\n%s", err, again)
		}
	})
}
