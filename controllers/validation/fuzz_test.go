// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/patch"
	"github.com/seed-59268b81/talos/config/validate"
	"github.com/seed-59268b81/talos/controllers/validation"
)

// FuzzConfig checks any documents, alone or as a patch of a complete configuration: each finding has a text, a second check has the same
// result, and the configuration stays as it is.
func FuzzConfig(f *testing.F) {
	bases := [][]byte{nil, configtest.ControlPlane(f), configtest.Worker(f)}
	modes := []validate.Mode{validate.Metal, validate.Container} // one for each execution, which takes milliseconds

	for i := range bases {
		for _, name := range config.Kinds() {
			kind, _ := config.KindOf(name)
			f.Add(uint8(i), []byte(kind.Example))
		}

		for _, text := range []string{
			"{machine: {kubelet: {extraArgs: {cert-dir: x}}, sysctls: {'a b': c}}, cluster: {apiServer: {extraArgs: {etcd-servers: b}}, etcd: {extraArgs: {data-dir: /x}}}}",
			"machine: {pods: [{kind: Pod, metadata: {name: a}, spec: {containers: [{name: a}]}}], files: [{path: /x, op: append, content: a}]}",
			"machine: {network: {interfaces: [{interface: eth0, bond: {mode: 802.3ad, interfaces: [a]}, vlans: [{vlanId: 7}], wireguard: {peers: [{}]}}]}}",
			"machine: {registries: {mirrors: {'*': {endpoints: ['http://a']}}, config: {b: {tls: {ca: '-'}}}}}",
			"cluster: {apiServer: {admissionControl: [{name: A, configuration: {a: b}}], auditPolicy: {rules: []}}, inlineManifests: [{name: a, contents: b}]}",
			"cluster: {network: {podSubnets: [10.0.0.0/8], serviceSubnets: ['::/0'], cni: {name: none}}, proxy: {disabled: true}}",
			"apiVersion: v1alpha1\nkind: LinkAliasConfig\nname: net0\nselector: {match: 'link.mtu > 7u'}\n",
			"apiVersion: v1alpha1\nkind: OOMConfig\ntriggerExpression: memory_full > 12.0\n",
		} {
			f.Add(uint8(i), []byte(text))
		}
	}

	f.Add(uint8(0), bases[1])
	f.Add(uint8(0), bases[2])

	f.Fuzz(func(t *testing.T, which uint8, text []byte) {
		if base := bases[int(which)%len(bases)]; base != nil {
			loaded, err := patch.Load([]string{string(text)})
			if err != nil {
				return
			}

			if text, err = patch.Apply(base, loaded...); err != nil {
				return
			}
		}

		cfg, err := config.Decode(text)
		if err != nil {
			return
		}

		before, err := config.Encode(cfg.Documents()...)
		if err != nil {
			t.Fatal(err)
		}

		mode := modes[int(which)/len(bases)%len(modes)]
		warnings, err := validation.Config(cfg, mode)

		findings, ok := err.(validate.Findings) // it is not wrapped
		if err != nil && (!ok || len(findings) == 0) {
			t.Errorf("got %T %v, want findings", err, err)
		}

		for _, found := range findings {
			if found.Text == "" {
				t.Errorf("got a finding of %q without a text", found.Path)
			}
		}

		again, err := validation.Config(cfg, mode)
		second, _ := err.(validate.Findings)

		if diff := cmp.Diff(warnings, again) + cmp.Diff(findings, second); diff != "" {
			t.Errorf("a second check (-first +second):\n%s", diff)
		}

		if after, err := config.Encode(cfg.Documents()...); err != nil || !bytes.Equal(before, after) {
			t.Errorf("got error %v; the check changes the configuration (-before +after):\n%s", err, cmp.Diff(string(before), string(after)))
		}
	})
}
