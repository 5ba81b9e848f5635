// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/cosi/resource/protoenc"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

var compareAddrs = cmp.Options{
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
}

func roundTrip[S any](t *testing.T, spec S, wantYAML string) {
	t.Helper()

	var text strings.Builder

	enc := yaml.NewEncoder(&text)
	enc.SetIndent(4)

	if err := enc.Encode(spec); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(strings.TrimPrefix(wantYAML, "\n"), text.String()); diff != "" {
		t.Errorf("%T as YAML (-want +got):\n%s", spec, diff)
	}

	var fromYAML, fromWire S

	if err := yaml.Unmarshal([]byte(text.String()), &fromYAML); err != nil {
		t.Errorf("%T from YAML: %v", spec, err)
	}

	wire, err := protoenc.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}

	if err := protoenc.Unmarshal(wire, &fromWire); err != nil {
		t.Fatal(err)
	}

	for how, got := range map[string]S{"YAML": fromYAML, "wire": fromWire} {
		if diff := cmp.Diff(spec, got, compareAddrs); diff != "" {
			t.Errorf("%T there and back by %s (-want +got):\n%s", spec, how, diff)
		}
	}
}

// The printed forms are those that users and their scripts know.
func TestForms(t *testing.T) {
	roundTrip(t, AddressStatusSpec{
		Address: netip.MustParsePrefix("172.20.0.2/24"), Local: netip.MustParseAddr("172.20.0.2"), Broadcast: netip.MustParseAddr("172.20.0.255"),
		LinkIndex: 4, LinkName: "eth0", Family: nethelpers.FamilyInet4, Flags: nethelpers.AddressPermanent,
	}, `
address: 172.20.0.2/24
local: 172.20.0.2
broadcast: 172.20.0.255
anycast: ""
multicast: ""
linkIndex: 4
linkName: eth0
family: inet4
scope: global
flags: permanent
`)

	roundTrip(t, RouteStatusSpec{
		Family: nethelpers.FamilyInet4, Gateway: netip.MustParseAddr("172.20.0.1"), OutLinkIndex: 4, OutLinkName: "eth0", Table: nethelpers.TableMain,
		Priority: 1024, Type: nethelpers.TypeUnicast, Protocol: nethelpers.ProtocolStatic,
	}, `
family: inet4
dst: ""
src: ""
gateway: 172.20.0.1
outLinkIndex: 4
outLinkName: eth0
table: main
priority: 1024
scope: global
type: unicast
flags: ""
protocol: static
`)

	roundTrip(t, LinkStatusSpec{
		Index: 4, Type: nethelpers.LinkTypeEther, Flags: nethelpers.LinkUp | nethelpers.LinkBroadcast | nethelpers.LinkRunning | nethelpers.LinkMulticast | nethelpers.LinkLowerUp,
		HardwareAddr: []byte{0x4e, 0x95, 0x8e, 0x8f, 0xe4, 0x47}, BroadcastAddr: []byte{255, 255, 255, 255, 255, 255}, MTU: 1500, QueueDisc: "pfifo_fast",
		OperationalState: nethelpers.OperStateUp, Driver: "virtio_net", LinkState: true, Port: nethelpers.PortOther, Duplex: nethelpers.DuplexUnknown,
	}, `
index: 4
type: ether
linkIndex: 0
flags: UP,BROADCAST,RUNNING,MULTICAST,LOWER_UP
hardwareAddr: 4e:95:8e:8f:e4:47
broadcastAddr: ff:ff:ff:ff:ff:ff
mtu: 1500
queueDisc: pfifo_fast
operationalState: up
kind: ""
slaveKind: ""
driver: virtio_net
linkState: true
port: Other
duplex: Unknown
`)

	roundTrip(t, HostnameSpecSpec{Hostname: "talos-abc-def", Layer: LayerConfiguration}, `
hostname: talos-abc-def
domainname: ""
layer: configuration
`)

	roundTrip(t, LinkSpecSpec{Name: "eth0", Up: true, MTU: 1400, Layer: LayerOperator}, `
name: eth0
logical: false
up: true
mtu: 1400
kind: ""
type: netrom
layer: operator
`)

	roundTrip(t, OperatorSpecSpec{Operator: OperatorDHCP4, LinkName: "eth0", RequireUp: true, DHCP4: DHCP4OperatorSpec{RouteMetric: 1024}}, `
operator: dhcp4
linkName: eth0
requireUp: true
dhcp4:
    routeMetric: 1024
layer: default
`)

	roundTrip(t, NodeAddressSpec{Addresses: []netip.Prefix{netip.MustParsePrefix("172.20.0.2/24")}, SortAlgorithm: nethelpers.AddressSortV2}, `
addresses:
    - 172.20.0.2/24
sortAlgorithm: v2
`)
}

// Field numbers on the wire, in hexadecimal as protobuf writes them.
func TestWire(t *testing.T) {
	wire, err := protoenc.Marshal(TimeServerSpecSpec{NTPServers: []string{"a"}, Layer: LayerConfiguration, UseNTS: true})
	if err != nil {
		t.Fatal(err)
	}

	if want := "\x0a\x01a\x10\x04\x18\x01"; string(wire) != want {
		t.Errorf("got %x, want %x", wire, want)
	}
}

func TestIDs(t *testing.T) {
	gateway, network := netip.MustParseAddr("172.20.0.1"), netip.MustParsePrefix("172.20.0.0/24")

	for _, tt := range []struct{ got, want string }{
		{AddressID("eth0", netip.MustParsePrefix("172.20.0.2/24")), "eth0/172.20.0.2/24"},
		{RouteID(nethelpers.TableMain, "eth0", nethelpers.FamilyInet4, gateway, netip.Prefix{}, 1024), "inet4/172.20.0.1//1024"},
		{RouteID(nethelpers.TableMain, "eth0", nethelpers.FamilyInet4, netip.Addr{}, network, 0), "inet4//172.20.0.0/24/0"},
		{RouteID(nethelpers.TableLocal, "eth0", nethelpers.FamilyInet6, netip.Addr{}, netip.MustParsePrefix("ff00::/8"), 256), "local/eth0/inet6//ff00::/8/256"},
		{LayeredID(LayerDefault, OperatorSpecSpec{LinkName: "eth0"}.ID()), "default/dhcp4/eth0"},
		{FilteredNodeAddressID(NodeAddressCurrentID, NodeAddressFilterNoK8s), "current-no-k8s"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestParseFQDN(t *testing.T) {
	for _, tt := range []struct{ fqdn, hostname, domainname, wantErr string }{
		{"node", "node", "", ""},
		{"node.example.com.", "node", "example.com", ""},
		{"Node-1.example", "Node-1", "example", ""},
		{"", "", "", "want 1 to 63 bytes"},
		{"a_b", "", "", "want letters, digits and inner hyphens"},
		{"-a", "", "", "inner hyphens"},
		{"a..b", "", "", "want 1 to 63 bytes"},
		{strings.Repeat("a", 64), "", "", "want 1 to 63 bytes"},
		{strings.Repeat("a.", 127) + "a", "", "", "longer than 253 bytes"},
	} {
		var s HostnameSpecSpec

		err := s.ParseFQDN(tt.fqdn)
		if (err != nil) != (tt.wantErr != "") || err != nil && !strings.Contains(err.Error(), tt.wantErr) {
			t.Errorf("ParseFQDN(%q): got error %v, want %q", tt.fqdn, err, tt.wantErr)
		}

		if s.Hostname != tt.hostname || s.Domainname != tt.domainname {
			t.Errorf("ParseFQDN(%q): got %q, %q, want %q, %q", tt.fqdn, s.Hostname, s.Domainname, tt.hostname, tt.domainname)
		}
	}
}

func TestFilterPasses(t *testing.T) {
	pods := netip.MustParsePrefix("10.244.0.0/16")

	for _, tt := range []struct {
		filter NodeAddressFilterSpec
		addr   string
		want   bool
	}{
		{NodeAddressFilterSpec{}, "10.244.0.1", true},
		{NodeAddressFilterSpec{ExcludeSubnets: []netip.Prefix{pods}}, "10.244.0.1", false},
		{NodeAddressFilterSpec{ExcludeSubnets: []netip.Prefix{pods}}, "10.0.0.1", true},
		{NodeAddressFilterSpec{IncludeSubnets: []netip.Prefix{pods}}, "10.0.0.1", false},
		{NodeAddressFilterSpec{IncludeSubnets: []netip.Prefix{pods}}, "10.244.0.1", true},
	} {
		if got := tt.filter.Passes(netip.MustParseAddr(tt.addr)); got != tt.want {
			t.Errorf("%+v passes %s: got %v, want %v", tt.filter, tt.addr, got, tt.want)
		}
	}
}
