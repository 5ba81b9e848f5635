// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/seed-59268b81/talos/lab/netswitch"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// TestBeyond checks to which addresses the gateway connects from this computer: never to its own loopback, or to hosts
// outside with the lab's addresses.
func TestBeyond(t *testing.T) {
	for to, want := range map[string]bool{
		"192.0.2.1": true, "10.6.0.1": true,
		"10.5.0.1": false, "10.5.0.77": false, "127.0.0.1": false, "224.0.0.1": false, "0.0.0.0": false,
		"255.255.255.255": false, "169.254.169.254": false, "169.254.7.7": false, "100.100.100.200": false, "168.63.129.16": false,
		"2001:db8::1": true, "fd06::1": true,
		"fd05::1": false, "::1": false, "fe80::1": false, "ff02::1": false, "::": false, "fd00:ec2::254": false,
	} {
		dialled := false
		handle := beyond([]netip.Prefix{netip.MustParsePrefix("10.5.0.0/24"), netip.MustParsePrefix("fd05::/64")}, func(stack.TransportEndpointID, *stack.PacketBuffer) bool {
			dialled = true

			return true
		})

		id := stack.TransportEndpointID{LocalAddress: tcpip.AddrFromSlice(netip.MustParseAddr(to).AsSlice())}
		if got := handle(id, nil); got != want || dialled != want {
			t.Errorf("%s: got %v, dialled %v, want %v", to, got, dialled, want)
		}
	}
}

// TestOnlineGatewayStarts checks that an online gateway starts and ends.
func TestOnlineGatewayStarts(t *testing.T) {
	cfg := testConfig(t, dualStack)
	cfg.Offline = false

	gw, err := New(netswitch.New(1), *cfg)
	if err != nil {
		t.Fatal(err)
	}

	gw.Close()
}

// TestGatewayAnswersForItself checks that neither an online nor an offline gateway answers for the addresses of others
// on its network.
func TestGatewayAnswersForItself(t *testing.T) {
	for _, offline := range []bool{true, false} {
		sw := netswitch.New(1)
		newGateway(t, sw, testConfig(t, dualStack, func(c *Config) { c.Offline = offline }))

		answers := make(chan string, 100)
		port := sw.Attach("node", func(frame []byte) {
			switch {
			case len(frame) > 70 && frame[54] == byte(header.ICMPv6NeighborAdvert):
				target, _ := netip.AddrFromSlice(frame[62:78])
				answers <- target.String()
			case len(frame) >= 42 && frame[12] == 0x08 && frame[13] == 0x06 && frame[21] == 2: // ARP reply
				sender, _ := netip.AddrFromSlice(frame[28:32])
				answers <- sender.String()
			}
		})

		mac, self := testConfig(t).Hosts[0].MAC, netip.MustParseAddr("fd05::5054:ff:fe00:2")

		for _, target := range []string{"fd05::77", "10.5.0.77", "169.254.169.254", "10.5.0.1", "fd05::1"} {
			addr := netip.MustParseAddr(target)
			if addr.Is6() {
				solicit := append([]byte{byte(header.ICMPv6NeighborSolicit), 0, 0, 0, 0, 0, 0, 0}, addr.AsSlice()...)
				solicit = append(append(solicit, ndSourceLinkLayer, 1), mac...)
				group := header.SolicitedNodeAddr(tcpip.AddrFrom16(addr.As16()))
				port.Send(ipv6Frame(mac, self, netip.AddrFrom16(group.As16()), solicit))

				continue
			}

			request := append(slices.Repeat([]byte{0xff}, 6), mac...)
			request = append(request, 0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, 1)
			request = append(append(request, mac...), 10, 5, 0, 2)
			request = append(append(request, make([]byte, 6)...), addr.AsSlice()...)
			port.Send(request)
		}

		got := map[string]bool{}
		// When the right answers are there, wrong ones would be too.
		for wait := 30 * time.Second; ; {
			select {
			case addr := <-answers:
				if got[addr] = true; got["10.5.0.1"] && got["fd05::1"] {
					wait = 500 * time.Millisecond
				}

				continue
			case <-time.After(wait):
			}

			break
		}

		port.Close()

		if d := cmp.Diff(map[string]bool{"10.5.0.1": true, "fd05::1": true}, got); d != "" {
			t.Errorf("offline %v: addresses answered for (-want +got):\n%s", offline, d)
		}
	}
}
