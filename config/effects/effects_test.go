// SPDX-License-Identifier: Apache-2.0

package effects

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/strict"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// keys returns the paths of all keys of a document's type.
func keys(t reflect.Type, path string) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map && t.Elem().Kind() == reflect.Struct {
		t = t.Elem()
	}

	if t.Kind() != reflect.Struct || len(strict.Fields(t)) == 0 {
		return []string{path}
	}

	var out []string

	for name, field := range strict.Fields(t) {
		out = append(out, keys(field.Type, strict.Join(path, name))...)
	}

	return out
}

func allKeys() []string {
	all := keys(reflect.TypeFor[v1alpha1.Config](), "")

	for _, kind := range config.Kinds() {
		all = append(all, keys(reflect.TypeOf(config.NewDocument(kind)), kind)...)
	}

	return all
}

// TestEveryRowIsAKey checks that the lists have only existing keys, and that each exception is needed.
func TestEveryRowIsAKey(t *testing.T) {
	all := allKeys()
	isKey := func(row string) bool {
		return slices.ContainsFunc(all, func(key string) bool { return covers(row, key) })
	}
	isUnread := func(path string) bool {
		return slices.ContainsFunc(strings.Fields(unread), func(row string) bool { return covers(row, path) || covers(path, row) })
	}

	for _, row := range strings.Fields(unread) {
		if !isKey(row) {
			t.Errorf("%s is not the path of a key", row)
		}
	}

	for _, e := range settled {
		if !isUnread(e.path) {
			t.Errorf("%s (%s): some code reads it: remove the exception", e.path, e.reason)
		}
	}

	for _, e := range without {
		if !isKey(e.path) || isUnread(e.path) {
			t.Errorf("%s (%s): it is not a key, or no code reads it: remove the exception", e.path, e.reason)
		}
	}
}

func TestLookup(t *testing.T) {
	for _, test := range []struct {
		path, row string
		effective bool
	}{
		{"machine.network.interfaces.mtu", "machine.network.interfaces.mtu", true},
		{"machine.network.interfaces.bond.mode", "machine.network.interfaces.bond.mode", true},
		{"machine.network.interfaces.vlans.vlanId", "machine.network.interfaces.vlans.vlanId", true},
		{"machine.sysfs", "machine.sysfs", true},
		{"cluster.network.cni.urls", "cluster.network.cni.urls", true},
		{"machine.registries.mirrors.skipFallback", "machine.registries.mirrors.skipFallback", true},
		{"machine.systemDiskEncryption.state", "machine.systemDiskEncryption", false},
		{"machine.network.interfaces.wireguard.peers", "machine.network.interfaces.wireguard.peers", true},
		{"machine.environment", "machine.environment", true},
		{"machine.features.diskQuotaSupport", "machine.features.diskQuotaSupport", false},
		{"cluster.id", "cluster.id", true},
		{"HostnameConfig.auto", "HostnameConfig.auto", true},
		{"DHCPv4Config.routeMetric", "DHCPv4Config.routeMetric", true},
		{"DHCPv6Config.routeMetric", "DHCPv6Config.routeMetric", false},
	} {
		row, effective := Lookup(test.path)
		if row != test.row || effective != test.effective {
			t.Errorf("%s: got %s, %t, want %s, %t", test.path, row, effective, test.row, test.effective)
		}
	}
}

func TestInVain(t *testing.T) {
	const main = "machine:\n  type: worker\n"

	scrubbed := func(name string) string {
		return "apiVersion: v1alpha1\nkind: ExistingVolumeConfig\nname: " + name + "\nscrub: {enabled: true}\n"
	}

	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"nothing set", main, nil},
		{"in effect", main + "  sysctls: {a: b}\n  network: {interfaces: [{interface: eth0, dhcp: true}]}\n", nil},
		{"a switch on", main + "  features: {diskQuotaSupport: true}\n", []string{"machine.features.diskQuotaSupport"}},
		{"a switch off", main + "  features: {diskQuotaSupport: false}\n", nil},
		{"disabled already", "cluster: {discovery: {enabled: false, registries: {kubernetes: {disabled: true}}}}\n", nil},
		{"in a list, once", main + "  disks: [{device: /dev/vdb}, {device: /dev/vdc}]\n", []string{"machine.disks"}},
		{"bonds and bridges", main + "  network: {interfaces: [{interface: a, bond: {mode: 802.3ad}}, {interface: b, bridge: {}}]}\n", nil},
		{"an object that is there", main + "  systemDiskEncryption: {state: {}}\n", []string{"machine.systemDiskEncryption"}},
		{"a map in effect", main + "  env: {http_proxy: x}\n", nil},
		{"an object in a map, in effect", main + "  registries: {config: {a: {auth: {username: u}, tls: {insecureSkipVerify: true}}}}\n", nil},
		{"an empty map", main + "  env: {}\n", nil},
		{
			"documents with names", main + "---\n" + scrubbed("a") + "---\n" + scrubbed("b") + "---\n" + scrubbed("a.b"),
			[]string{"ExistingVolumeConfig[a.b].scrub", "ExistingVolumeConfig[a].scrub", "ExistingVolumeConfig[b].scrub"},
		},
		{
			"the metric of routes that DHCPv6 does not have",
			main + "---\napiVersion: v1alpha1\nkind: DHCPv6Config\nname: eth7\nrouteMetric: 512\n---\napiVersion: v1alpha1\nkind: DHCPv4Config\nname: eth7\nrouteMetric: 512\n",
			[]string{"DHCPv6Config[eth7].routeMetric"},
		},
		{"a URL", main + "  logging: {destinations: [{endpoint: 'tcp://127.0.0.1:99'}]}\n---\napiVersion: v1alpha1\nkind: SideroLinkConfig\napiUrl: https://siderolink.example.com/\n", []string{"SideroLinkConfig.apiUrl"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg, err := config.Decode([]byte(test.text))
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(test.want, InVain(cfg)); diff != "" {
				t.Errorf("in vain (-want +got):\n%s", diff)
			}

			if got, want := len(Warnings(cfg)), len(test.want); got != want {
				t.Errorf("warnings: got %d, want %d", got, want)
			}
		})
	}
}

// The configurations of existing clients set some keys that have no effect yet, and no others without effect.
func TestInVainOfExamples(t *testing.T) {
	cfg, err := config.Decode(configtest.ControlPlane(t))
	if err != nil {
		t.Fatal(err)
	}

	got := InVain(cfg)

	want := []string{"machine.features.diskQuotaSupport"}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("in vain (-want +got):\n%s", diff)
	}
}
