// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"encoding"
	"fmt"
	"net/netip"

	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/resources/network"
)

// bondSpec is a bond of the configuration with the kernel's defaults where it is silent (Documentation/
// networking/bonding.rst).
func bondSpec(b *v1alpha1.Bond) (network.BondMasterSpec, error) {
	spec := network.BondMasterSpec{
		MIIMon: b.MIIMon, UpDelay: b.UpDelay, DownDelay: b.DownDelay, ARPInterval: b.ARPInterval,
		ResendIGMP: cmp.Or(b.ResendIGMP, 1), MinLinks: b.MinLinks, LPInterval: cmp.Or(b.LPInterval, 1),
		PacketsPerSlave: cmp.Or(b.PacketsPerSlave, 1), NumPeerNotif: cmp.Or(b.NumPeerNotif, 1),
		TLBDynamicLB: cmp.Or(b.TLBDynamicLB, 1), AllSlavesActive: b.AllSlavesActive,
		UseCarrier: v1alpha1.IsTrueOr(b.UseCarrier, true), ADActorSysPrio: cmp.Or(b.ADActorSysPrio, 65535),
		ADUserPortKey: b.ADUserPortKey, PeerNotifyDelay: b.PeerNotifyDelay, Primary: b.Primary, MissedMax: 2, ADLACPActive: 1,
	}

	// Without any monitoring the kernel never notices a dead slave.
	if spec.MIIMon == 0 && spec.ARPInterval == 0 {
		spec.MIIMon = 100
	}

	for _, f := range []struct {
		key, text string
		into      encoding.TextUnmarshaler
	}{
		{"mode", b.Mode, &spec.Mode},
		{"xmitHashPolicy", b.XmitHashPolicy, &spec.HashPolicy},
		{"lacpRate", b.LACPRate, &spec.LACPRate},
		{"arpValidate", b.ARPValidate, &spec.ARPValidate},
		{"arpAllTargets", b.ARPAllTargets, &spec.ARPAllTargets},
		{"primaryReselect", b.PrimaryReselect, &spec.PrimaryReselect},
		{"failOverMac", b.FailOverMAC, &spec.FailOverMAC},
		{"adSelect", b.ADSelect, &spec.ADSelect},
	} {
		if f.text == "" {
			continue
		}

		if err := f.into.UnmarshalText([]byte(f.text)); err != nil {
			return spec, fmt.Errorf("bond.%s: %w", f.key, err)
		}
	}

	for _, text := range b.ARPIPTarget {
		target, err := netip.ParseAddr(text)
		if err != nil {
			return spec, fmt.Errorf("bond.arpIPTarget: %w", err)
		}

		if target.Is4() {
			spec.ARPIPTargets = append(spec.ARPIPTargets, target)
		} else {
			spec.NSIP6Targets = append(spec.NSIP6Targets, target)
		}
	}

	return spec, nil
}
