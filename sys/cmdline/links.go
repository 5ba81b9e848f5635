// SPDX-License-Identifier: Apache-2.0

package cmdline

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// maxVLAN is the highest number of a VLAN; 4095 is reserved.
const maxVLAN = 4094

// VLAN is a `vlan=` argument, as in dracut.cmdline(7):
//
//	vlan=name:parent
//
// The number is the end of the name: vlan0005, vlan5, eth0.0005 or eth0.5.
type VLAN struct {
	Name, Parent string
	ID           uint16
}

// ParseVLAN reads the value of a `vlan=` argument.
func ParseVLAN(value string) (VLAN, error) {
	name, parent, _ := strings.Cut(value, ":")
	if name == "" || parent == "" {
		return VLAN{}, fmt.Errorf("kernel argument vlan=%s: want name:parent, such as eth0.5:eth0", value)
	}

	digits := name[strings.LastIndexByte(name, '.')+1:]
	if digits == name {
		digits = strings.TrimPrefix(name, "vlan")
	}

	id, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || id == 0 || id > maxVLAN {
		return VLAN{}, fmt.Errorf("kernel argument vlan=%s: the name %q has no number of a VLAN: want one such as vlan5 or %s.5, from 1 to %d", value, name, parent, maxVLAN)
	}

	return VLAN{name, parent, uint16(id)}, nil
}

// Bond is a `bond=` argument, as in dracut.cmdline(7):
//
//	bond=name:ports:options:mtu
//
// with lists that have commas. The name is bond0 when it is left out, the ports are eth0 and eth1, and the mode is balance-rr.
type Bond struct {
	Name    string
	Ports   []string
	Options []Option
	// MTU is 0 if there is none.
	MTU uint32
}

// Option of a bond, with the name that the kernel has for it, such as xmit_hash_policy.
type Option struct{ Name, Value string }

// ParseBond reads the value of a `bond=` argument.
func ParseBond(value string) (Bond, error) {
	fields := append(strings.Split(value, ":"), "", "", "")

	b := Bond{Name: cmp.Or(fields[0], "bond0"), Ports: strings.Split(cmp.Or(fields[1], "eth0,eth1"), ",")}

	for option := range strings.SplitSeq(cmp.Or(fields[2], "mode=balance-rr"), ",") {
		name, text, ok := strings.Cut(option, "=")
		if !ok || name == "" || text == "" {
			return Bond{}, fmt.Errorf("kernel argument bond=%s: option %q: want name=value", value, option)
		}

		b.Options = append(b.Options, Option{name, text})
	}

	if text := fields[3]; text != "" {
		mtu, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return Bond{}, fmt.Errorf("kernel argument bond=%s: MTU %q: want a number", value, text)
		}

		b.MTU = uint32(mtu)
	}

	if len(fields) > 7 {
		return Bond{}, fmt.Errorf("kernel argument bond=%s: want name:ports:options:mtu", value)
	}

	return b, nil
}
