// SPDX-License-Identifier: Apache-2.0

package nethelpers

import (
	"encoding"
	"fmt"
	"testing"
)

// value is an enumeration behind a pointer.
type value interface {
	encoding.TextMarshaler
	encoding.TextUnmarshaler
}

func ptr[T any](v T) *T { return &v }

func TestTextForms(t *testing.T) {
	for _, tt := range []struct {
		v    value
		want string
	}{
		{ptr(FamilyInet4), "inet4"},
		{ptr(ScopeGlobal), "global"},
		{ptr(Scope(77)), "77"},
		{ptr(LinkTypeEther), "ether"},
		{ptr(LinkType(0)), "netrom"},
		{ptr(LinkTypeLoopback), "loopback"},
		{ptr(OperStateUp), "up"},
		{ptr(TableMain), "main"},
		{ptr(RoutingTable(180)), "180"},
		{ptr(RoutingTable(70000)), "70000"},
		{ptr(VLANProtocol8021Q), "802.1q"},
		{ptr(BondMode8023AD), "802.3ad"},
		{ptr(PortOther), "Other"},
		{ptr(ProtocolDHCP), "dhcp"},
		{ptr(AddressPermanent | AddressNoPrefixRoute), "permanent,noprefixroute"},
		{ptr(AddressFlags(0)), ""},
		{ptr(AddressFlags(1<<20) | AddressTemporary), "temporary,0x100000"},
		{ptr(LinkUp | LinkBroadcast | LinkRunning | LinkMulticast | LinkLowerUp), "UP,BROADCAST,RUNNING,MULTICAST,LOWER_UP"},
		{ptr(HardwareAddr{0x52, 0x54, 0, 0x12, 0x34, 0x56}), "52:54:00:12:34:56"},
		{ptr(HardwareAddr(nil)), ""},
	} {
		text, err := tt.v.MarshalText()
		if err != nil || string(text) != tt.want {
			t.Errorf("%T: got %q, %v, want %q", tt.v, text, err, tt.want)

			continue
		}

		before := fmt.Sprint(tt.v)
		if err := tt.v.UnmarshalText([]byte(tt.want)); err != nil || fmt.Sprint(tt.v) != before {
			t.Errorf("%T: reading %q back gives %v, %v, want %v", tt.v, tt.want, tt.v, err, before)
		}
	}
}

func TestUnmarshalErrors(t *testing.T) {
	for _, tt := range []struct {
		v    value
		text string
	}{
		{new(Family), "ipx"},
		{new(Family), "300"},
		{new(Scope), "-1"},
		{new(AddressFlags), "permanent,shiny"},
		{new(HardwareAddr), "zz:00"},
	} {
		if err := tt.v.UnmarshalText([]byte(tt.text)); err == nil {
			t.Errorf("%T: reading %q: got no error", tt.v, tt.text)
		}
	}
}
