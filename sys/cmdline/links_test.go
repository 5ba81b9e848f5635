// SPDX-License-Identifier: Apache-2.0

package cmdline

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseVLAN(t *testing.T) {
	for value, want := range map[string]VLAN{
		"vlan0005:eth0": {"vlan0005", "eth0", 5}, "vlan5:eth0": {"vlan5", "eth0", 5}, "eth0.0005:eth0": {"eth0.0005", "eth0", 5},
		"enp1s0.4094:enp1s0": {"enp1s0.4094", "enp1s0", 4094},
	} {
		if got, err := ParseVLAN(value); got != want || err != nil {
			t.Errorf("%s: got %+v, %v, want %+v", value, got, err, want)
		}
	}

	for _, value := range []string{"", "vlan5", "vlan5:", ":eth0", "vlan:eth0", "vlan0:eth0", "eth0.4095:eth0", "eth0:eth0", "vlan-1:eth0"} {
		if got, err := ParseVLAN(value); err == nil {
			t.Errorf("%s: got %+v, want an error", value, got)
		}
	}
}

func TestParseBond(t *testing.T) {
	for value, want := range map[string]Bond{
		"":      {Name: "bond0", Ports: []string{"eth0", "eth1"}, Options: []Option{{"mode", "balance-rr"}}},
		"bond1": {Name: "bond1", Ports: []string{"eth0", "eth1"}, Options: []Option{{"mode", "balance-rr"}}},
		"bond0:eth1,eth2:mode=802.3ad,lacp_rate=fast:1450": {
			Name: "bond0", Ports: []string{"eth1", "eth2"}, Options: []Option{{"mode", "802.3ad"}, {"lacp_rate", "fast"}}, MTU: 1450,
		},
		"bond0:eth1::9000": {Name: "bond0", Ports: []string{"eth1"}, Options: []Option{{"mode", "balance-rr"}}, MTU: 9000},
	} {
		if got, err := ParseBond(value); err != nil {
			t.Errorf("%s: %v", value, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", value, diff)
		}
	}

	for _, value := range []string{"bond0:eth1:mode", "bond0:eth1:=1", "bond0:eth1:mode=", "bond0:eth1:mode=1:large", "bond0:eth1:mode=1:1500:x"} {
		if got, err := ParseBond(value); err == nil {
			t.Errorf("%s: got %+v, want an error", value, got)
		}
	}
}

func FuzzParseLinks(f *testing.F) {
	f.Add("bond0:eth1,eth2:mode=802.3ad:1450")
	f.Add("eth0.5:eth0")
	f.Fuzz(func(t *testing.T, value string) {
		if b, err := ParseBond(value); err == nil && (b.Name == "" || len(b.Ports) == 0 || len(b.Options) == 0) {
			t.Errorf("%q: got %+v", value, b)
		}

		if v, err := ParseVLAN(value); err == nil && (v.Name == "" || v.Parent == "" || v.ID == 0 || v.ID > maxVLAN) {
			t.Errorf("%q: got %+v", value, v)
		}
	})
}
