// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"math"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// bondTargets is the kernel's limit of targets in each address family (BOND_MAX_ARP_TARGETS).
const bondTargets = 16

// The modes, and those that support a setting (Documentation/networking/bonding.rst; drivers/net/bonding/bond_options.c).
var (
	bondModes        = []string{"balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"}
	modesWithLACP    = []string{"802.3ad"}
	modesWithPrimary = []string{"active-backup", "balance-tlb", "balance-alb"}
	modesWithARP     = []string{"balance-rr", "active-backup", "balance-xor", "broadcast"}
	modesWithTLB     = []string{"balance-tlb", "balance-alb"}
	modesWithRounds  = []string{"balance-rr"}
)

// bond rejects settings that the kernel rejects, since the machine would then have no bond at all, and settings without effect.
func (c *check) bond(at string, b *v1alpha1.Bond) {
	if len(b.Interfaces) == 0 && len(b.DeviceSelectors) == 0 {
		c.wrong(at, "has no links: set interfaces or deviceSelectors")
	}

	if len(b.Interfaces) > 0 && len(b.DeviceSelectors) > 0 {
		c.wrong(at, "interfaces and deviceSelectors exclude each other: keep one")
	}

	c.oneOf(at+".mode", b.Mode, bondModes...)
	c.oneOf(at+".xmitHashPolicy", b.XmitHashPolicy, "layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4", "vlan+srcmac")
	c.oneOf(at+".lacpRate", b.LACPRate, "slow", "fast")
	c.oneOf(at+".arpValidate", b.ARPValidate, "none", "active", "backup", "all", "filter", "filter_active", "filter_backup")
	c.oneOf(at+".arpAllTargets", b.ARPAllTargets, "any", "all")
	c.oneOf(at+".primaryReselect", b.PrimaryReselect, "always", "better", "failure")
	c.oneOf(at+".failOverMac", b.FailOverMAC, "none", "active", "follow")
	c.oneOf(at+".adSelect", b.ADSelect, "stable", "bandwidth", "count")

	c.bondNumbers(at, b)
	c.bondModes(at, b)
	c.bondMonitoring(at, b)

	if b.ADActorSystem != "" {
		if mac, err := net.ParseMAC(b.ADActorSystem); err != nil || len(mac) != 6 || mac[0]&1 != 0 {
			c.wrong(at+".adActorSystem", "%q is not a unicast hardware address: want six bytes such as 02:00:00:00:00:01", b.ADActorSystem)
		}
	}
}

// bondNumbers checks the numbers against the kernel's ranges.
func (c *check) bondNumbers(at string, b *v1alpha1.Bond) {
	for _, n := range []struct {
		key              string
		value, low, high uint32
	}{
		{"miimon", v1alpha1.Or(b.MIIMon, 0), 0, math.MaxInt32},
		{"updelay", b.UpDelay, 0, math.MaxInt32},
		{"downdelay", b.DownDelay, 0, math.MaxInt32},
		// The maximum since Linux 6.9 is 300 s.
		{"peerNotifyDelay", b.PeerNotifyDelay, 0, 300_000},
		{"arpInterval", b.ARPInterval, 0, math.MaxInt32},
		{"minLinks", b.MinLinks, 0, math.MaxInt32},
		{"lpInterval", v1alpha1.Or(b.LPInterval, 1), 1, math.MaxInt32},
		{"resendIgmp", v1alpha1.Or(b.ResendIGMP, 1), 0, 255},
		{"packetsPerSlave", v1alpha1.Or(b.PacketsPerSlave, 1), 0, 65535},
		{"tlbDynamicLb", uint32(v1alpha1.Or(b.TLBDynamicLB, 1)), 0, 1},
		{"allSlavesActive", uint32(b.AllSlavesActive), 0, 1},
		{"adActorSysPrio", uint32(v1alpha1.Or(b.ADActorSysPrio, 65535)), 1, 65535},
		{"adUserPortKey", uint32(b.ADUserPortKey), 0, 1023},
	} {
		if n.value < n.low || n.value > n.high {
			c.wrong(at+"."+n.key, "%d is out of range (%d to %d)", n.value, n.low, n.high)
		}
	}
}

// bondModes rejects settings that the mode does not support. A setting with the kernel's default value is valid in every mode.
func (c *check) bondModes(at string, b *v1alpha1.Bond) {
	mode := b.Mode
	if mode == "" {
		mode = bondModes[0]
	}

	if !slices.Contains(bondModes, mode) {
		return
	}

	for _, s := range []struct {
		key   string
		set   bool
		modes []string
	}{
		{"lacpRate", b.LACPRate != "" && b.LACPRate != "slow", modesWithLACP},
		{"adSelect", b.ADSelect != "" && b.ADSelect != "stable", modesWithLACP},
		{"adActorSystem", b.ADActorSystem != "", modesWithLACP},
		{"adActorSysPrio", v1alpha1.Or(b.ADActorSysPrio, 65535) != 65535, modesWithLACP},
		{"adUserPortKey", b.ADUserPortKey != 0, modesWithLACP},
		{"primary", b.Primary != "", modesWithPrimary},
		{"primaryReselect", b.PrimaryReselect != "" && b.PrimaryReselect != "always", modesWithPrimary},
		{"arpInterval", b.ARPInterval != 0, modesWithARP},
		{"arpIPTarget", len(b.ARPIPTarget) != 0, modesWithARP},
		{"arpValidate", b.ARPValidate != "" && b.ARPValidate != "none", modesWithARP},
		{"arpAllTargets", b.ARPAllTargets != "" && b.ARPAllTargets != "any", modesWithARP},
		{"tlbDynamicLb", v1alpha1.Or(b.TLBDynamicLB, 1) != 1, modesWithTLB},
		{"packetsPerSlave", v1alpha1.Or(b.PacketsPerSlave, 1) != 1, modesWithRounds},
	} {
		if s.set && !slices.Contains(s.modes, mode) {
			c.wrong(at+"."+s.key, "has no effect in mode %s: remove it, or use mode %s", mode, strings.Join(s.modes, ", "))
		}
	}
}

// bondMonitoring checks how the bond detects a dead link: by its carrier (miimon), or by ARP targets that do not reply.
func (c *check) bondMonitoring(at string, b *v1alpha1.Bond) {
	if b.MIIMon != nil && *b.MIIMon == 0 && b.ARPInterval == 0 {
		c.wrong(at+".miimon", "is 0, and there is no arpInterval: the bond would not detect dead links; remove it (the default is 100), or set arpInterval")
	}

	if b.ARPInterval != 0 && v1alpha1.Or(b.MIIMon, 0) != 0 {
		c.wrong(at+".arpInterval", "and miimon exclude each other: keep one")
	}

	if b.ARPInterval != 0 && len(b.ARPIPTarget) == 0 {
		c.wrong(at+".arpIPTarget", "is missing: with arpInterval and no target, the kernel considers all links dead")
	}

	for _, s := range []struct {
		key string
		set bool
	}{
		{"arpIPTarget", len(b.ARPIPTarget) != 0},
		{"arpValidate", b.ARPValidate != "" && b.ARPValidate != "none"},
		{"arpAllTargets", b.ARPAllTargets != "" && b.ARPAllTargets != "any"},
	} {
		if s.set && b.ARPInterval == 0 {
			c.wrong(at+"."+s.key, "has no effect without arpInterval: set arpInterval too")
		}
	}

	for _, d := range []struct {
		key   string
		value uint32
	}{{"updelay", b.UpDelay}, {"downdelay", b.DownDelay}, {"peerNotifyDelay", b.PeerNotifyDelay}} {
		switch {
		case d.value == 0:
		case b.ARPInterval != 0:
			c.wrong(at+"."+d.key, "has no effect with arpInterval: it is a multiple of miimon")
		case d.value < v1alpha1.Or(b.MIIMon, 100):
			c.wrong(at+"."+d.key, "%d is less than miimon, and the kernel rounds it down to 0: want a multiple of %d", d.value, v1alpha1.Or(b.MIIMon, 100))
		}
	}

	c.bondTargets(at+".arpIPTarget", b.ARPIPTarget)
}

func (c *check) bondTargets(at string, targets []string) {
	seen, count := map[netip.Addr]bool{}, map[bool]int{}

	for i, text := range targets {
		target, err := netip.ParseAddr(text)

		switch {
		case err != nil || target.Zone() != "":
			c.wrong(index(at, i), "%q is not an address", text)

			continue
		case target.IsUnspecified() || target.IsMulticast() || target.IsLoopback() || target == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
			c.wrong(index(at, i), "%s is not the address of another machine", target)
		case target.Is4In6():
			c.wrong(index(at, i), "%s is an IPv4 address: write %s", target, target.Unmap())
		case seen[target]:
			c.wrong(index(at, i), "%s: duplicate", target)
		}

		seen[target] = true
		count[target.Is4()]++
	}

	for _, n := range count {
		if n > bondTargets {
			c.wrong(at, "has %d addresses of one family: the kernel takes %d", n, bondTargets)
		}
	}
}
