// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net/netip"
	"testing"

	"github.com/seed-59268b81/talos/lab/netswitch"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// TestBeyond checks which addresses are dialled on this computer at all: never
// its own loopback, nor what has the lab's addresses outside.
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

// TestOnlineGatewayStarts checks that a gateway with a way out comes up and goes
// down.
func TestOnlineGatewayStarts(t *testing.T) {
	cfg := testConfig(t)
	cfg.Offline = false

	gw, err := New(netswitch.New(1), *cfg)
	if err != nil {
		t.Fatal(err)
	}

	gw.Close()
}
