// SPDX-License-Identifier: Apache-2.0

package view

import (
	"strings"

	"github.com/seed-59268b81/talos/config/documents/network"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

func linkOfBond(d *network.BondConfig) Link {
	l := linkOfDocument(d, d.DocName, &d.LinkSettings)
	l.Bond, l.HardwareAddr, l.Ports = BondOf(d), d.HardwareAddr, texts(d.Links)

	return l
}

// BondOf returns the settings of a document.
func BondOf(d *network.BondConfig) *Bond {
	b := &Bond{
		Bond: v1alpha1.Bond{
			Mode: string(d.BondMode), XmitHashPolicy: string(d.XmitHashPolicy), LACPRate: string(d.LACPRate),
			// The document has dashes where the kernel has underscores.
			ARPValidate: strings.ReplaceAll(string(d.ARPValidate), "-", "_"), ARPAllTargets: string(d.ARPAllTargets),
			Primary: string(d.Primary), PrimaryReselect: string(d.PrimaryReselect), FailOverMAC: string(d.FailOverMAC), ADSelect: string(d.ADSelect),
			MIIMon: d.MIIMon, UpDelay: number(d.UpDelay), DownDelay: number(d.DownDelay), ARPInterval: number(d.ARPInterval),
			ResendIGMP: d.ResendIGMP, MinLinks: number(d.MinLinks), LPInterval: d.LPInterval, PacketsPerSlave: d.PacketsPerSlave,
			NumPeerNotif: d.NumPeerNotif, TLBDynamicLB: d.TLBLogicalLB, AllSlavesActive: number(d.AllSlavesActive),
			UseCarrier: d.UseCarrier, ADActorSysPrio: d.ADActorSysPrio, ADUserPortKey: number(d.ADUserPortKey),
			PeerNotifyDelay: number(d.PeerNotifDelay),
		},
		MissedMax: d.MissedMax, ADLACPActive: string(d.ADLACPActive),
	}

	for _, target := range d.ARPIPTargets {
		b.ARPIPTarget = append(b.ARPIPTarget, target.String())
	}

	for _, target := range d.NSIP6Targets {
		b.ARPIPTarget = append(b.ARPIPTarget, target.String())
	}

	return b
}

// number returns a number whose default is 0.
func number[N uint8 | uint16 | uint32](n *N) N {
	if n == nil {
		return 0
	}

	return *n
}
