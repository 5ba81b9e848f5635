// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/insomniacslk/dhcp/dhcpv4"
)

// testConfig returns a network of two machines, with only IPv4 unless edited.
func testConfig(t testing.TB, edits ...func(*Config)) *Config {
	cfg := &Config{
		Subnet4: netip.MustParsePrefix("10.5.0.0/24"),
		Addr4:   netip.MustParseAddr("10.5.0.1"),
		Domain:  "demo.lab.internal",
		Hosts: []Host{
			{Name: "demo-controlplane-1", MAC: net.HardwareAddr{0x52, 0x54, 0, 0, 0, 2}, Addr4: netip.MustParseAddr("10.5.0.2")},
			{Name: "demo-worker-1", MAC: net.HardwareAddr{0x52, 0x54, 0, 0, 0, 3}, Addr4: netip.MustParseAddr("10.5.0.3")},
		},
		Offline: true,
	}
	for _, edit := range edits {
		edit(cfg)
	}

	if err := cfg.setDefaults(); err != nil {
		t.Fatal(err)
	}

	return cfg
}

func TestAnswerDHCP(t *testing.T) {
	cfg := testConfig(t)
	node := cfg.Hosts[0]
	ask := func(kind dhcpv4.MessageType, more ...dhcpv4.Modifier) *dhcpv4.DHCPv4 {
		m, err := dhcpv4.New(append([]dhcpv4.Modifier{dhcpv4.WithHwAddr(node.MAC), dhcpv4.WithMessageType(kind)}, more...)...)
		if err != nil {
			t.Fatal(err)
		}

		return m
	}
	asked := func(ip string) dhcpv4.Modifier {
		return dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(net.ParseIP(ip)))
	}
	server := func(ip string) dhcpv4.Modifier {
		return dhcpv4.WithOption(dhcpv4.OptServerIdentifier(net.ParseIP(ip)))
	}

	const lease = "10.5.0.2/24 router [10.5.0.1] dns [10.5.0.1] ntp [10.5.0.1] name demo-controlplane-1 mtu 1500 lease 1h0m0s"

	tests := []struct {
		name string
		in   *dhcpv4.DHCPv4
		want string // kind and lease; empty for no answer
		err  bool
	}{
		{"discover", ask(dhcpv4.MessageTypeDiscover), "OFFER " + lease, false},
		{"request of the offer", ask(dhcpv4.MessageTypeRequest, asked("10.5.0.2"), server("10.5.0.1")), "ACK " + lease, false},
		{"request after reboot", ask(dhcpv4.MessageTypeRequest, asked("10.5.0.2")), "ACK " + lease, false},
		{"renewal", ask(dhcpv4.MessageTypeRequest, dhcpv4.WithClientIP(net.IP{10, 5, 0, 2})), "ACK " + lease, false},
		{"request of another address", ask(dhcpv4.MessageTypeRequest, asked("192.168.1.7")), "NAK", false},
		{"renewal of another address", ask(dhcpv4.MessageTypeRequest, dhcpv4.WithClientIP(net.IP{10, 5, 0, 3})), "NAK", false},
		{"request to another server", ask(dhcpv4.MessageTypeRequest, asked("10.5.0.2"), server("10.5.0.9")), "", false},
		{"inform", ask(dhcpv4.MessageTypeInform, dhcpv4.WithClientIP(net.IP{10, 5, 0, 2})),
			"ACK 0.0.0.0/24 router [10.5.0.1] dns [10.5.0.1] ntp [10.5.0.1] name demo-controlplane-1 mtu 1500 lease 0s", false},
		{"release", ask(dhcpv4.MessageTypeRelease), "", false},
		{"decline", ask(dhcpv4.MessageTypeDecline), "", true},
		{"a server's message", ask(dhcpv4.MessageTypeOffer), "", true},
		{"no message type", ask(dhcpv4.MessageTypeDiscover, dhcpv4.WithoutOption(dhcpv4.OptionDHCPMessageType)), "", true},
		{"a stranger", ask(dhcpv4.MessageTypeDiscover, dhcpv4.WithHwAddr(net.HardwareAddr{2, 0, 0, 0, 0, 9})), "", true},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reply, err := cfg.answerDHCP(tt.in, DHCPBehaviour{}, 0)
			if (err != nil) != tt.err {
				t.Fatalf("got error %v, want one: %v", err, tt.err)
			}

			if d := cmp.Diff(tt.want, leaseString(reply)); d != "" {
				t.Errorf("reply (-want +got):\n%s", d)
			}

			if reply != nil && reply.TransactionID != tt.in.TransactionID {
				t.Errorf("got transaction %v, want %v", reply.TransactionID, tt.in.TransactionID)
			}
		})
	}
}

func TestReplyAddr(t *testing.T) {
	cfg := testConfig(t)

	for _, tt := range []struct {
		name   string
		client net.IP
		bcast  bool
		reply  dhcpv4.MessageType
		want   string
	}{
		{"a client without an address", nil, false, dhcpv4.MessageTypeOffer, "255.255.255.255"},
		{"a renewal", net.IP{10, 5, 0, 2}, false, dhcpv4.MessageTypeAck, "10.5.0.2"},
		{"a client that wants a broadcast", net.IP{10, 5, 0, 2}, true, dhcpv4.MessageTypeAck, "255.255.255.255"},
		{"a refusal", net.IP{10, 5, 0, 2}, false, dhcpv4.MessageTypeNak, "255.255.255.255"},
		{"a client from elsewhere", net.IP{192, 0, 2, 7}, false, dhcpv4.MessageTypeAck, "255.255.255.255"},
	} {
		request, err := dhcpv4.New(dhcpv4.WithClientIP(tt.client), dhcpv4.WithBroadcast(tt.bcast))
		if err != nil {
			t.Fatal(err)
		}

		reply, err := dhcpv4.New(dhcpv4.WithMessageType(tt.reply))
		if err != nil {
			t.Fatal(err)
		}

		if got := cfg.replyAddr(request, reply).String(); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func leaseString(m *dhcpv4.DHCPv4) string {
	if m == nil {
		return ""
	}

	if m.MessageType() == dhcpv4.MessageTypeNak {
		return "NAK"
	}

	bits, _ := m.SubnetMask().Size()
	mtu := m.Options.Get(dhcpv4.OptionInterfaceMTU)

	return m.MessageType().String() + " " + m.YourIPAddr.String() + "/" + itoa(bits) +
		" router " + ips(m.Router()) + " dns " + ips(m.DNS()) + " ntp " + ips(m.NTPServers()) +
		" name " + m.HostName() + " mtu " + itoa(int(mtu[0])<<8|int(mtu[1])) +
		" lease " + m.IPAddressLeaseTime(0).Round(time.Second).String()
}

// FuzzAnswerDHCP checks that no message crashes the server, and that only the lab's machines get answers, each with its
// own address.
func FuzzAnswerDHCP(f *testing.F) {
	cfg := testConfig(f)

	discover, err := dhcpv4.NewDiscovery(cfg.Hosts[0].MAC)
	if err != nil {
		f.Fatal(err)
	}

	f.Add(discover.ToBytes())
	f.Add([]byte{1, 1, 6, 0})

	f.Fuzz(func(t *testing.T, packet []byte) {
		request, err := dhcpv4.FromBytes(packet)
		if err != nil {
			return
		}

		reply, err := cfg.answerDHCP(request, DHCPBehaviour{}, 0)
		if err != nil || reply == nil {
			return
		}

		host := cfg.hostByMAC(request.ClientHWAddr)
		if host == nil {
			t.Fatalf("an unknown client %v was answered", request.ClientHWAddr)
		}

		if ip := reply.YourIPAddr; !ip.IsUnspecified() && !ip.Equal(net.IP(host.Addr4.AsSlice())) {
			t.Fatalf("got address %v for %v, want %v", ip, host.MAC, host.Addr4)
		}

		if _, err := dhcpv4.FromBytes(reply.ToBytes()); err != nil {
			t.Fatalf("the reply does not decode: %v", err)
		}
	})
}
