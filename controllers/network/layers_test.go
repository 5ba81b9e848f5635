// SPDX-License-Identifier: Apache-2.0

package network

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

func TestLayers(t *testing.T) {
	for _, tt := range []struct{ name, args, interfaces, want string }{
		{
			name: "nothing said",
			want: `
default link lo
default link eth0
default link eth1
default operator dhcp4/eth0 metric 1024
default operator dhcp4/eth1 metric 1024
`,
		},
		{
			name: "static, the other by default",
			interfaces: `
- interface: eth0
  mtu: 9000
  addresses: [192.0.2.7/24, "2001:db8::7"]
  routes:
    - gateway: 192.0.2.1
    - {network: 198.51.100.9/24, metric: 5}
    - {network: "::/0", gateway: "fe80::1"}
`,
			want: `
default link lo
default link eth1
configuration link eth0 mtu 9000
configuration address eth0/192.0.2.7/24
configuration address eth0/2001:db8::7/128
configuration route inet4/192.0.2.1//1024 dev eth0 scope global
configuration route inet4//198.51.100.0/24/5 dev eth0 scope link
configuration route eth0/inet6/fe80::1//1024 dev eth0 scope global
default operator dhcp4/eth1 metric 1024
`,
		},
		{
			name: "DHCP as requested",
			interfaces: `
- {interface: eth0, dhcp: true, dhcpOptions: {routeMetric: 50}}
- {interface: eth1, dhcp: true, dhcpOptions: {ipv4: false}}
`,
			want: `
default link lo
configuration link eth0
configuration link eth1
configuration operator dhcp4/eth0 metric 50
`,
		},
		{
			name: "ignored by configuration and by argument",
			args: "talos.network.interface.ignore=eth1",
			interfaces: `
- {interface: eth0, ignore: true, addresses: [192.0.2.7/24], dhcp: true}
`,
			want: `
default link lo
`,
		},
		{
			name: "by alternative names: one link, and no default for it",
			args: "ip=192.0.2.9:::24::enp0s4:none",
			interfaces: `
- {interface: enp0s4, mtu: 1400, addresses: [192.0.2.7/24], vlans: [{vlanId: 5}]}
- {interface: br0, bridge: {interfaces: [enp0s4]}}
`,
			want: `
default link lo
default link eth0
cmdline link eth1
configuration link br0 bridge
configuration link eth1 mtu 1400 in br0
configuration link eth1.5 vlan vlan 5 of eth1
cmdline address eth1/192.0.2.9/24
configuration address eth1/192.0.2.7/24
default operator dhcp4/eth0 metric 1024
`,
		},
		{
			name: "ignored by its alternative name",
			args: "talos.network.interface.ignore=enp0s4",
			want: `
default link lo
default link eth0
default operator dhcp4/eth0 metric 1024
`,
		},
		{
			name: "selectors",
			interfaces: `
- {deviceSelector: {permanentAddr: "52:54:*:02"}, addresses: [192.0.2.2/24]}
- {deviceSelector: {driver: virtio*, pciID: "1af4:*", busPath: "0000:*"}, addresses: [192.0.2.1/24]}
- {deviceSelector: {driver: absent}, addresses: [192.0.2.3/24]}
- {deviceSelector: {physical: true, driver: e1000}, addresses: [192.0.2.4/24]}
`,
			want: `
default link lo
configuration link eth0
configuration link eth1
configuration address eth1/192.0.2.2/24
configuration address eth0/192.0.2.1/24
configuration address eth1/192.0.2.4/24
`,
		},
		{
			name: "a selector of several",
			interfaces: `
- {deviceSelector: {physical: true}, mtu: 9000, addresses: [192.0.2.2/24]}
`,
			want: `
default link lo
configuration link eth0 mtu 9000
configuration link eth1 mtu 9000
configuration address eth0/192.0.2.2/24
`,
		},
		{
			name: "a selector of several that are left alone",
			interfaces: `
- {deviceSelector: {physical: true}, ignore: true}
`,
			want: `
default link lo
`,
		},
		{
			name: "bond with VLAN, bridge, dummy",
			interfaces: `
- interface: bond0
  bond: {mode: 802.3ad, deviceSelectors: [{physical: true}]}
  vlans:
    - {vlanId: 25, addresses: [192.0.2.25/24], mtu: 1400, dhcp: true}
- {interface: br0, bridge: {interfaces: [bond0.25], stp: {enabled: true}}}
- {interface: dummy1, dummy: true}
- {interface: eth1, mtu: 9000}
`,
			want: `
default link lo
configuration link bond0 bond 802.3ad
configuration link bond0.25 vlan mtu 1400 vlan 25 of bond0 in br0
configuration link br0 bridge stp
configuration link dummy1 dummy
configuration link eth0 in bond0
configuration link eth1 mtu 9000 in bond0
configuration address bond0.25/192.0.2.25/24
configuration operator dhcp4/bond0.25 metric 1024
`,
		},
		{
			name: "a bond with a VLAN by arguments, and the configuration for one of them",
			args: "bond=bond0:eth0,enp0s4:mode=802.3ad,xmit_hash_policy=layer2+3,use_carrier=1,miimon=50:9000 vlan=bond0.0100:bond0 " +
				"ip=192.0.2.5::192.0.2.1:24::bond0.0100:none ip=bond0:dhcp",
			interfaces: `
- {interface: bond0, mtu: 1400}
`,
			want: `
default link lo
cmdline link bond0 bond mtu 9000 802.3ad
cmdline link bond0.0100 vlan vlan 100 of bond0
cmdline link eth0 in bond0
cmdline link eth1 in bond0
configuration link bond0 mtu 1400
cmdline address bond0.0100/192.0.2.5/24
cmdline route inet4/192.0.2.1//1024 dev bond0.0100 scope global
cmdline operator dhcp4/bond0 metric 1024
`,
		},
		{
			name: "ip= for the first card, DHCP for a named one",
			args: "ip=192.0.2.5::192.0.2.1:24 ip=eth1:dhcp",
			want: `
default link lo
cmdline link eth0
cmdline link eth1
cmdline address eth0/192.0.2.5/24
cmdline route inet4/192.0.2.1//1024 dev eth0 scope global
cmdline operator dhcp4/eth1 metric 1024
`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, want := show(t, given(t, tt.args, tt.interfaces)), strings.TrimPrefix(tt.want, "\n")

			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What cannot be set has a condition and is left out, and the rest of the configuration is set.
func TestLeftOut(t *testing.T) {
	const eth1 = "\n- {interface: eth1, mtu: 1400, addresses: [192.0.2.8/24], routes: [{gateway: 192.0.2.1}]}\n"

	for _, tt := range []struct{ name, interfaces, want, key, cause string }{
		{
			"an address", "- {interface: eth0, addresses: [192.0.2.300/24, 192.0.2.7/24]}" + eth1,
			"configuration link eth0\nconfiguration link eth1 mtu 1400\nconfiguration address eth0/192.0.2.7/24\n", ".addresses", "IPv4 field has value >255",
		},
		{
			"a route", "- {interface: eth0, routes: [{metric: 1}, {network: 198.51.100.0/24}]}" + eth1,
			"configuration link eth0\nconfiguration link eth1 mtu 1400\nconfiguration address eth1/192.0.2.8/24\n" +
				"configuration route inet4//198.51.100.0/24/1024 dev eth0 scope link\n", ".routes", "link eth0: a route needs a destination or a gateway",
		},
		{
			"a bond", "- {interface: bond0, bond: {mode: fastest, interfaces: [eth0]}}" + eth1,
			"default link lo\nconfiguration link eth1 mtu 1400\n", "", `link bond0: bond.mode: unknown bond mode "fastest"`,
		},
	} {
		f := given(t, "", tt.interfaces)
		if got := show(t, f); !strings.Contains(got, tt.want) || !strings.HasSuffix(got, "configuration route inet4/192.0.2.1//1024 dev eth1 scope global\n") {
			t.Errorf("%s: got\n%s", tt.name, got)
		}

		said := remarks{}

		linkLayers(f, said)
		addressLayers(f, said)
		routeLayers(f, said)

		if c := said["machine.network.interfaces[0]"+tt.key]; len(said) != 1 || c.State != network.SpecRefused || !strings.Contains(c.Cause, tt.cause) {
			t.Errorf("%s: got %v", tt.name, said)
		}
	}
}

// TestRemarks: a remark is logged when it is new or says something else. Several about a setting are one.
func TestRemarks(t *testing.T) {
	var logged strings.Builder

	log := slog.New(slog.NewTextHandler(&logged, nil))
	before := remarks{}

	for _, tt := range []struct {
		causes []string
		logs   bool
	}{
		{nil, false}, {[]string{"a"}, true}, {[]string{"a"}, false}, {[]string{"a", "b"}, true}, {[]string{"b"}, true}, {nil, false}, {[]string{"b"}, true},
	} {
		said := remarks{}
		for _, cause := range tt.causes {
			said.leftOut("LinkConfig[eth0]", errors.New(cause))
		}

		logged.Reset()
		said.log(log, before)
		before = said

		if got := logged.String(); (got != "") != tt.logs || tt.logs && !strings.Contains(got, strings.Join(tt.causes, "; ")) {
			t.Errorf("%q: logged %q", tt.causes, got)
		}
	}

	remarks(nil).leftOut("LinkConfig[eth0]", errors.New("another controller says so"))
}

// TestSettingCondition: a setting that is left out has a condition until it is corrected.
func TestSettingCondition(t *testing.T) {
	m := newMachine(t, ethernet("eth0", 1))
	m.boot("")

	const text = "version: v1alpha1\nmachine: {type: worker, network: {interfaces: [{interface: eth0, addresses: [%s]}, {deviceSelector: {driver: none}}]}}\n"

	condition := func(key string) string {
		return network.SpecConditionID(network.ConditionSetting, "machine.network.interfaces"+key)
	}

	m.configure(fmt.Sprintf(text, "192.0.2.300/24"))
	await(m, "", condition("[0].addresses"), func(s network.SpecConditionSpec) bool { return s.State == network.SpecRefused })
	await(m, "", condition("[1].deviceSelector"), func(s network.SpecConditionSpec) bool {
		return s == network.SpecConditionSpec{State: network.SpecWaiting, Cause: "no link matches driver=none"}
	})

	m.configure(fmt.Sprintf(text, "192.0.2.30/24"))
	await(m, "", "eth0/192.0.2.30/24", func(network.AddressSpecSpec) bool { return true })
	awaitGone[network.SpecConditionSpec](m, "", condition("[0].addresses"))
}

// DHCPv6 runs with DHCPv4, as routers advertise, unless the configuration says otherwise.
func TestOperatorLayers(t *testing.T) {
	for _, tt := range []struct{ name, args, interfaces, want string }{
		{name: "nothing said", want: "default/dhcp4/eth0 default/dhcp6/eth0 default/dhcp4/eth1 default/dhcp6/eth1"},
		{name: "by argument", args: "ip=eth1:dhcp", want: "default/dhcp4/eth0 default/dhcp6/eth0 cmdline/dhcp4/eth1 default/dhcp6/eth1"},
		{
			name: "requested",
			interfaces: `
- {interface: eth0, dhcp: true}
- {interface: eth1, dhcp: true, dhcpOptions: {ipv6: true, ipv4: false, duidv6: "00030001525400000002"}}
`,
			want: "configuration/dhcp4/eth0 default/dhcp6/eth0 configuration/dhcp6/eth1",
		},
		{
			name: "turned off, and static",
			interfaces: `
- {interface: eth0, dhcp: true, dhcpOptions: {ipv6: false}}
- {interface: eth1, addresses: [192.0.2.1/24]}
`,
			want: "configuration/dhcp4/eth0",
		},
	} {
		specs := operatorLayers(given(t, tt.args, tt.interfaces), nil)

		var got []string
		for _, s := range specs {
			got = append(got, network.LayeredID(s.Layer, s.ID()))
		}

		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, text, tt.want)
		}
	}
}

func TestHostnameLayers(t *testing.T) {
	stable, off := "---\napiVersion: v1alpha1\nkind: HostnameConfig\nauto: stable\n", "---\napiVersion: v1alpha1\nkind: HostnameConfig\nauto: \"off\"\n"
	named := "---\napiVersion: v1alpha1\nkind: HostnameConfig\nhostname: doc.example\n"
	worker := "version: v1alpha1\nmachine:\n  type: worker\n"

	for _, tt := range []struct {
		name, config, args, nodeID, address string
		want                                []string
	}{
		{name: "nothing known", want: nil},
		{name: "maintenance", address: "172.20.0.2", want: []string{"default talos-172-20-0-2"}},
		{name: "maintenance, IPv6", address: "2001:db8::2", want: []string{"default talos-2001-db8--2"}},
		{name: "an identity", nodeID: "n1", address: "172.20.0.2", want: []string{"default " + StableHostname("n1")}},
		{name: "stable waits for the identity", config: worker + stable, address: "172.20.0.2", want: nil},
		{name: "stable", config: worker + stable, nodeID: "n1", want: []string{"default " + StableHostname("n1")}},
		{name: "stable by the older way", config: worker + "  features: {stableHostname: true}\n", nodeID: "n1", want: []string{"default " + StableHostname("n1")}},
		{name: "neither: the address", config: worker, nodeID: "n1", address: "172.20.0.2", want: []string{"default talos-172-20-0-2"}},
		{name: "off", config: worker + off, nodeID: "n1", address: "172.20.0.2", want: nil},
		{name: "named", config: worker + named, nodeID: "n1", want: []string{"configuration doc.example"}},
		{name: "named by the older way, and an argument", config: worker + "  network: {hostname: old}\n", args: "talos.hostname=arg.example", want: []string{"cmdline arg.example", "configuration old"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := given(t, tt.args, "")

			if tt.config != "" {
				cfg, err := config.Decode([]byte(tt.config))
				if err != nil {
					t.Fatal(err)
				}

				f.config = view.Of(cfg)
			}

			address, _ := netip.ParseAddr(tt.address)

			specs, err := hostnameLayers(f, tt.nodeID, address)
			if err != nil {
				t.Fatal(err)
			}

			var got []string

			for _, s := range specs {
				status := network.HostnameStatusSpec{Hostname: s.Hostname, Domainname: s.Domainname}
				got = append(got, s.Layer.String()+" "+status.FQDN())
			}

			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}

	if a, b := StableHostname("n1"), StableHostname("n2"); a == b || len(a) != len("talos-xxx-xxx") {
		t.Errorf("got %q and %q", a, b)
	}
}

// TestLateCard: a card that is added later, with a name before the others, does not change settings of the first card.
func TestLateCard(t *testing.T) {
	const text = "- {deviceSelector: {physical: true}, addresses: [192.0.2.2/24]}\n"

	for _, tt := range []struct{ name, args, interfaces string }{
		{"ip= without a device", "ip=192.0.2.5::192.0.2.1:24", ""},
		{"a selector of several", "", text},
	} {
		before := given(t, tt.args, tt.interfaces)
		after := before
		after.links = append([]network.LinkStatusSpec{{Index: 9, Type: nethelpers.LinkTypeEther, Driver: "igb"}}, before.links...)
		after.names = append([]string{"ens1"}, before.names...)

		for _, line := range strings.Split(show(t, before), "\n") {
			if strings.Contains(line, "192.0.2.") && !strings.Contains(show(t, after), line) {
				t.Errorf("%s: a later card changed %q to:\n%s", tt.name, line, show(t, after))
			}
		}
	}
}
