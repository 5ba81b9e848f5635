// SPDX-License-Identifier: Apache-2.0

package netlink

import (
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// The modes of a bond.
const (
	roundRobin = uint8(iota)
	activeBackup
	xor
	broadcastMode
	lacp
	tlb
	alb
)

// bondOnly are the settings that the kernel refuses in all but these modes (drivers/net/bonding/bond_options.c, unsuppmodes): with
// one of them in another mode the bond is not created.
var bondOnly = map[uint16][]uint8{
	unix.IFLA_BOND_PACKETS_PER_SLAVE: {roundRobin},
	unix.IFLA_BOND_ARP_VALIDATE:      {roundRobin, activeBackup, xor, broadcastMode},
	unix.IFLA_BOND_ARP_INTERVAL:      {roundRobin, activeBackup, xor, broadcastMode},
	unix.IFLA_BOND_MISSED_MAX:        {roundRobin, activeBackup, xor, broadcastMode},
	unix.IFLA_BOND_AD_LACP_ACTIVE:    {lacp},
	unix.IFLA_BOND_AD_LACP_RATE:      {lacp},
	unix.IFLA_BOND_AD_ACTOR_SYS_PRIO: {lacp},
	unix.IFLA_BOND_AD_ACTOR_SYSTEM:   {lacp},
	unix.IFLA_BOND_AD_USER_PORT_KEY:  {lacp},
	unix.IFLA_BOND_PRIMARY:           {activeBackup, tlb, alb},
	unix.IFLA_BOND_ACTIVE_SLAVE:      {activeBackup, tlb, alb},
	unix.IFLA_BOND_TLB_DYNAMIC_LB:    {tlb, alb},
}

// TestBondSendsWhatItsModeHas: all settings that the mode has are sent, and none that the kernel refuses.
func TestBondSendsWhatItsModeHas(t *testing.T) {
	full := Bond{
		XmitHashPolicy: 1, LACPRate: 1, PrimaryReselect: 1, FailOverMAC: 1, ADSelect: 1, ADLACPActive: 1, ARPValidate: 1, ARPAllTargets: 1,
		Primary: 3, ResendIGMP: 1, MinLinks: 1, LPInterval: 1, PacketsPerSlave: 1, NumPeerNotif: 1, TLBDynamicLB: 1, AllSlavesActive: 1,
		MissedMax: 2, ADActorSysPrio: 1, ADUserPortKey: 1, ADActorSystem: [6]byte{2, 0, 0, 0, 0, 1}, UseCarrier: true,
		ARPIPTargets: []netip.Addr{netip.MustParseAddr("192.0.2.1")}, NSIP6Targets: []netip.Addr{netip.MustParseAddr("2001:db8::1")},
	}

	for mode := roundRobin; mode <= alb; mode++ {
		byCarrier, byTargets := full, full
		byCarrier.Mode, byCarrier.MIIMon, byCarrier.UpDelay = mode, 100, 200
		byTargets.Mode, byTargets.ARPInterval = mode, 100

		sent := map[uint16]bool{}

		for _, b := range []Bond{byCarrier, byTargets} {
			all, err := b.attributes()
			if err != nil {
				t.Fatal(err)
			}

			for kind := range all {
				sent[kind] = true

				if modes, ok := bondOnly[kind]; ok && !slices.Contains(modes, mode) {
					t.Errorf("mode %d: attribute %d is sent, which the kernel refuses", mode, kind)
				}
			}
		}

		for kind, modes := range bondOnly {
			if kind != unix.IFLA_BOND_ACTIVE_SLAVE && slices.Contains(modes, mode) && !sent[kind] {
				t.Errorf("mode %d: attribute %d is not sent", mode, kind)
			}
		}
	}
}
