// SPDX-License-Identifier: Apache-2.0

package netlink

import (
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func TestBondChange(t *testing.T) {
	backup := Bond{Mode: 1, MIIMon: 100, LPInterval: 1, ResendIGMP: 1, NumPeerNotif: 1, UseCarrier: true, MissedMax: 2, Primary: 3}
	lacp := Bond{Mode: 4, MIIMon: 100, LPInterval: 1, ResendIGMP: 1, NumPeerNotif: 1, UseCarrier: true, MissedMax: 2, ADActorSysPrio: 65535, ADLACPActive: 1}
	robin := Bond{Mode: 0, ARPInterval: 200, ARPIPTargets: []netip.Addr{netip.MustParseAddr("192.0.2.1")}, PacketsPerSlave: 1}

	for _, tt := range []struct {
		name         string
		now          Bond
		change       func(*Bond)
		want         []uint16
		down, remake bool
	}{
		{"the same", backup, func(*Bond) {}, nil, false, false},
		{"monitoring", backup, func(b *Bond) { b.MIIMon = 50 }, []uint16{unix.IFLA_BOND_MIIMON}, false, false},
		{"a delay that the kernel rounds", backup, func(b *Bond) { b.UpDelay = 99 }, nil, false, false},
		{"a delay", backup, func(b *Bond) { b.UpDelay = 250 }, []uint16{unix.IFLA_BOND_UPDELAY}, false, false},
		{"hash policy", lacp, func(b *Bond) { b.XmitHashPolicy = 1 }, []uint16{unix.IFLA_BOND_XMIT_HASH_POLICY}, false, false},
		{"LACP rate", lacp, func(b *Bond) { b.LACPRate = 1 }, []uint16{unix.IFLA_BOND_AD_LACP_RATE}, true, false},
		{"LACP rate of a bond without LACP", backup, func(b *Bond) { b.LACPRate = 1 }, nil, false, false},
		{"another primary", backup, func(b *Bond) { b.Primary = 4 }, []uint16{unix.IFLA_BOND_PRIMARY}, false, false},
		{"no primary", backup, func(b *Bond) { b.Primary = 0 }, []uint16{unix.IFLA_BOND_PRIMARY}, false, false},
		{
			"targets", robin, func(b *Bond) { b.ARPIPTargets = append(b.ARPIPTargets, netip.MustParseAddr("192.0.2.2")) },
			[]uint16{unix.IFLA_BOND_ARP_IP_TARGET}, false, false,
		},
		{"mode", backup, func(b *Bond) { b.Mode = 5 }, nil, true, true},
		{"fail-over MAC", backup, func(b *Bond) { b.FailOverMAC = 1 }, nil, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want, now := tt.now, tt.now
			tt.change(&want)

			got, err := want.Change(&now)
			if err != nil {
				t.Fatal(err)
			}

			var kinds []uint16
			for _, a := range got.attributes {
				kinds = append(kinds, a.Type&^unix.NLA_F_NESTED)
			}

			if got.Remake != tt.remake || got.Empty() != (len(tt.want) == 0 && !tt.remake) {
				t.Errorf("got %+v, want made again: %t", got, tt.remake)
			}

			if !tt.remake && (got.Down != tt.down || !slices.Equal(kinds, tt.want)) {
				t.Errorf("got attributes %v, down %t, want %v, %t", kinds, got.Down, tt.want, tt.down)
			}
		})
	}
}

// TestBondChangeCoversAll changes each setting of a bond in turn: in some mode each is a change.
func TestBondChangeCoversAll(t *testing.T) {
	for i := range reflect.TypeFor[Bond]().NumField() {
		name, found := reflect.TypeFor[Bond]().Field(i).Name, false

		for mode := range uint8(7) {
			for _, now := range []Bond{{Mode: mode, MIIMon: 100}, {Mode: mode, ARPInterval: 100}} {
				want := now

				switch f := reflect.ValueOf(&want).Elem().Field(i); f.Kind() {
				case reflect.Bool:
					f.SetBool(true)
				case reflect.Array:
					f.Index(0).SetUint(2)
				case reflect.Slice:
					addr := netip.MustParseAddr("192.0.2.1")
					if name == "NSIP6Targets" {
						addr = netip.MustParseAddr("2001:db8::1")
					}

					f.Set(reflect.ValueOf([]netip.Addr{addr}))
				default:
					f.SetUint((f.Uint() + 100) % 200)
				}

				if c, err := want.Change(&now); err != nil {
					t.Errorf("%s in mode %d: %v", name, mode, err)
				} else if !c.Empty() {
					found = true
				}
			}
		}

		if !found {
			t.Errorf("a change of %s is never seen", name)
		}
	}
}
