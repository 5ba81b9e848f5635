// SPDX-License-Identifier: Apache-2.0

package network

import (
	"encoding"
	"fmt"
	"net/netip"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/network"
)

// bondSpec returns a bond of the configuration, with the kernel's defaults for missing settings (Documentation/networking/bonding.rst).
func bondSpec(b *view.Bond) (network.BondMasterSpec, error) {
	spec := network.BondMasterSpec{
		MIIMon: or(b.MIIMon, 0), UpDelay: b.UpDelay, DownDelay: b.DownDelay, ARPInterval: b.ARPInterval,
		ResendIGMP: or(b.ResendIGMP, 1), MinLinks: b.MinLinks, LPInterval: or(b.LPInterval, 1),
		PacketsPerSlave: or(b.PacketsPerSlave, 1), NumPeerNotif: or(b.NumPeerNotif, 1),
		TLBDynamicLB: or(b.TLBDynamicLB, 1), AllSlavesActive: b.AllSlavesActive,
		UseCarrier: view.IsTrueOr(b.UseCarrier, true), ADActorSysPrio: or(b.ADActorSysPrio, 65535),
		ADUserPortKey: b.ADUserPortKey, PeerNotifyDelay: b.PeerNotifyDelay, Primary: b.Primary, MissedMax: or(b.MissedMax, 2), ADLACPActive: 1,
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
		{"adActorSystem", b.ADActorSystem, &spec.ADActorSystem},
		{"adLACPActive", b.ADLACPActive, &spec.ADLACPActive},
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

// or returns a value of the configuration, or the default if it is absent.
func or[N any](n *N, absent N) N {
	if n == nil {
		return absent
	}

	return *n
}
