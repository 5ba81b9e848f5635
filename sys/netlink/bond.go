// SPDX-License-Identifier: Apache-2.0

package netlink

import (
	"net"
	"net/netip"

	"github.com/jsimonetti/rtnetlink/v2/driver"
)

// driver returns the bond as rtnetlink's type. Settings that the kernel accepts only in some modes are left out in the others, where it
// refuses even their default.
func (b *Bond) driver() *driver.Bond {
	const (
		activeBackup = uint8(driver.BondModeActiveBackup)
		lacp         = uint8(driver.BondMode802_3AD)
		tlb          = uint8(driver.BondModeBalanceTLB)
		alb          = uint8(driver.BondModeBalanceALB)
		roundRobin   = uint8(driver.BondModeBalanceRR)
	)

	d := &driver.Bond{
		Mode:            driver.BondMode(b.Mode),
		Miimon:          &b.MIIMon,
		ResendIgmp:      &b.ResendIGMP,
		LpInterval:      &b.LPInterval,
		NumPeerNotif:    &b.NumPeerNotif,
		AllSlavesActive: &b.AllSlavesActive,
		FailOverMac:     ptr(driver.BondFailOverMac(b.FailOverMAC)),
		XmitHashPolicy:  ptr(driver.BondXmitHashPolicy(b.XmitHashPolicy)),
		UseCarrier:      ptr(number[uint8](b.UseCarrier)),
		MinLinks:        &b.MinLinks,
	}

	if b.MIIMon > 0 {
		d.UpDelay, d.DownDelay, d.PeerNotifyDelay = &b.UpDelay, &b.DownDelay, &b.PeerNotifyDelay
	}

	switch b.Mode {
	case lacp:
		d.AdLacpRate = ptr(driver.BondLacpRate(b.LACPRate))
		d.AdSelect = ptr(driver.BondAdSelect(b.ADSelect))
		d.AdLacpActive = ptr(driver.BondAdLacpActive(b.ADLACPActive))
		d.AdActorSysPrio, d.AdUserPortKey, d.AdActorSystem = &b.ADActorSysPrio, &b.ADUserPortKey, b.ADActorSystem[:]
	case tlb, alb:
		d.TlbDynamicLb = &b.TLBDynamicLB
	case roundRobin:
		d.PacketsPerSlave = &b.PacketsPerSlave
	}

	if b.Mode == activeBackup || b.Mode == tlb || b.Mode == alb {
		d.PrimaryReselect = ptr(driver.BondPrimaryReselect(b.PrimaryReselect))

		if b.Primary != 0 {
			d.Primary = &b.Primary
		}
	}

	arp := b.Mode != lacp && b.Mode != tlb && b.Mode != alb

	if arp && b.MissedMax > 0 {
		d.MissedMax = &b.MissedMax
	}

	if arp && b.ARPInterval > 0 {
		d.ArpInterval = &b.ARPInterval
		d.ArpIpTargets, d.NsIP6Targets = toIPs(b.ARPIPTargets), toIPs(b.NSIP6Targets)
		d.ArpAllTargets = ptr(driver.BondArpAllTargets(b.ARPAllTargets))
		d.ArpValidate = ptr(driver.BondArpValidate(b.ARPValidate))
	}

	return d
}

// bondFrom returns the bond as the kernel has it; settings that it left out are zero.
func bondFrom(d *driver.Bond) *Bond {
	b := &Bond{
		Mode: uint8(d.Mode), XmitHashPolicy: uint8(value(d.XmitHashPolicy)), LACPRate: uint8(value(d.AdLacpRate)),
		PrimaryReselect: uint8(value(d.PrimaryReselect)), FailOverMAC: uint8(value(d.FailOverMac)),
		ADSelect: uint8(value(d.AdSelect)), ADLACPActive: uint8(value(d.AdLacpActive)),
		ARPValidate: uint32(value(d.ArpValidate)), ARPAllTargets: uint32(value(d.ArpAllTargets)),
		Primary: value(d.Primary), MIIMon: value(d.Miimon), UpDelay: value(d.UpDelay), DownDelay: value(d.DownDelay),
		ARPInterval: value(d.ArpInterval), PeerNotifyDelay: value(d.PeerNotifyDelay), ResendIGMP: value(d.ResendIgmp),
		MinLinks: value(d.MinLinks), LPInterval: value(d.LpInterval), PacketsPerSlave: value(d.PacketsPerSlave),
		NumPeerNotif: value(d.NumPeerNotif), TLBDynamicLB: value(d.TlbDynamicLb), AllSlavesActive: value(d.AllSlavesActive),
		MissedMax: value(d.MissedMax), ADActorSysPrio: value(d.AdActorSysPrio), ADUserPortKey: value(d.AdUserPortKey),
		UseCarrier: value(d.UseCarrier) != 0, ARPIPTargets: fromIPs(d.ArpIpTargets), NSIP6Targets: fromIPs(d.NsIP6Targets),
	}
	copy(b.ADActorSystem[:], d.AdActorSystem)

	return b
}

func ptr[T any](v T) *T { return &v }

func value[T any](p *T) (zero T) {
	if p == nil {
		return zero
	}

	return *p
}

func toIP(a netip.Addr) net.IP {
	if !a.IsValid() {
		return nil
	}

	return a.AsSlice()
}

func fromIP(ip net.IP) netip.Addr {
	a, _ := netip.AddrFromSlice(ip)

	return a.Unmap()
}

func toIPs(addrs []netip.Addr) []net.IP {
	var ips []net.IP
	for _, a := range addrs {
		ips = append(ips, toIP(a))
	}

	return ips
}

func fromIPs(ips []net.IP) []netip.Addr {
	var addrs []netip.Addr
	for _, ip := range ips {
		addrs = append(addrs, fromIP(ip))
	}

	return addrs
}
