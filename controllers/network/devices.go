// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/network"
)

// device is a link of the configuration with the name that the kernel has for it.
type device struct {
	view.Link
	name string
}

// devices resolves the links of the configuration. One whose selector matches no link waits for one. One whose selector matches several
// links is for all of them; settings for one link only, such as addresses, are for the link that the kernel found first.
func (f facts) devices(said remarks) []device {
	var out []device

	for _, l := range f.config.Links() {
		if l.Selector == nil {
			if l.Name != "" {
				out = append(out, f.withTagged(device{l, f.canonical(l.Name)})...)
			}

			continue
		}

		matches := f.selected(*l.Selector)

		switch {
		case len(matches) == 0:
			said.add(l.At+".deviceSelector", network.SpecWaiting, "no link matches "+describe(*l.Selector))
		case len(matches) > 1 && !reflect.DeepEqual(l, shared(l)):
			said.add(l.At+".deviceSelector", network.SpecApplied, fmt.Sprintf("several links match %s: %s: settings for one link only are set on the first",
				describe(*l.Selector), strings.Join(matches, ", ")))
		}

		for i, match := range matches {
			if i > 0 {
				l = shared(l)
			}

			out = append(out, f.withTagged(device{l, match})...)
		}
	}

	return out
}

// withTagged returns a device, and its VLANs as devices of their own.
func (f facts) withTagged(d device) []device {
	out := []device{d}

	for _, tagged := range d.Tagged {
		vlan := *tagged.VLAN
		vlan.Parent = d.name
		tagged.VLAN, tagged.Name, tagged.Ignore = &vlan, vlanName(d.name, vlan.ID), d.Ignore
		out = append(out, device{tagged, tagged.Name})
	}

	return out
}

// settings returns the devices that are not ignored.
func (f facts) settings(devices []device) []device {
	return slices.DeleteFunc(slices.Clone(devices), func(d device) bool {
		if f.ignored(devices, d.name) {
			return true
		}

		// The VLANs of an ignored link are ignored too.
		return d.VLAN != nil && f.ignored(devices, f.canonical(d.VLAN.Parent))
	})
}

// shared returns the settings that several links can have.
func shared(l view.Link) view.Link {
	return view.Link{
		At: l.At, Selector: l.Selector, Ignore: l.Ignore, Up: l.Up, Multicast: l.Multicast, MTU: l.MTU, DHCP4: l.DHCP4, DHCP6: l.DHCP6,
		Bridged: l.Bridged,
	}
}

// canonical returns the name of the link that has this name or alternative name.
func (f facts) canonical(name string) string {
	if slices.Contains(f.names, name) {
		return name
	}

	for i, l := range f.links {
		if slices.Contains(l.AltNames, name) {
			return f.names[i]
		}
	}

	return name
}

// selected returns the names of the links that match a selector, in the order in which the kernel found them, so that a new link does
// not change the order of the others.
func (f facts) selected(s view.DeviceSelector) []string {
	var out []string

	for _, i := range f.found() {
		if matches(s, f.links[i]) {
			out = append(out, f.names[i])
		}
	}

	return out
}

// found returns the indexes of the links in the order in which the kernel found or created them.
func (f facts) found() []int {
	order := make([]int, len(f.links))
	for i := range order {
		order[i] = i
	}

	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(f.links[a].Index, f.links[b].Index) })

	return order
}

// matches reports whether a link has all the properties that a selector names; an empty selector matches nothing.
func matches(s view.DeviceSelector, l network.LinkStatusSpec) bool {
	named := properties(s, l)

	return len(named) > 0 && !slices.ContainsFunc(named, func(p property) bool {
		ok, err := path.Match(strings.ToLower(p.pattern), strings.ToLower(p.value))

		return err != nil || !ok
	})
}

// property of a link that a selector names.
type property struct{ name, pattern, value string }

// properties returns the properties that a selector names.
func properties(s view.DeviceSelector, l network.LinkStatusSpec) []property {
	physical := ""
	if s.Physical != nil {
		physical = fmt.Sprint(*s.Physical)
	}

	return slices.DeleteFunc([]property{
		{"busPath", s.BusPath, l.BusPath},
		{"hardwareAddr", s.HardwareAddr, l.HardwareAddr.String()},
		{"permanentAddr", s.PermanentAddr, l.Permanent().String()},
		{"pciID", s.PCIID, l.PCIID},
		{"driver", s.Driver, l.Driver},
		{"physical", physical, fmt.Sprint(l.Physical())},
	}, func(p property) bool { return p.pattern == "" })
}

func describe(s view.DeviceSelector) string {
	var texts []string

	for _, p := range properties(s, network.LinkStatusSpec{}) {
		texts = append(texts, p.name+"="+p.pattern)
	}

	return strings.Join(texts, " ")
}

// ignored reports whether a link must not be changed.
func (f facts) ignored(devices []device, name string) bool {
	return slices.ContainsFunc(f.cmdline.ignored, func(ignored string) bool { return f.canonical(ignored) == name }) ||
		slices.ContainsFunc(devices, func(d device) bool { return d.name == name && d.Ignore })
}

// configured returns the links that the configuration, the platform or the kernel's arguments name, also as slaves of others; defaults do not apply to
// them.
func (f facts) configured(devices []device) map[string]bool {
	names := map[string]bool{}

	for _, d := range devices {
		names[d.name] = true

		for _, slave := range f.slaves(d) {
			names[slave] = true
		}
	}

	for _, ip := range f.cmdline.ips {
		names[f.device(ip)] = true
	}

	for _, l := range f.cmdline.links {
		names[l.Name] = true

		for _, slave := range f.slaves(device{l, l.Name}) {
			names[slave] = true
		}
	}

	for _, name := range f.cmdline.ignored {
		names[f.canonical(name)] = true
	}

	for _, name := range f.platform {
		names[name] = true
	}

	return names
}

// slaves returns the links that belong to a bond, bridge or VRF, in their order.
func (f facts) slaves(d device) []string {
	var out []string

	for _, name := range d.Ports {
		out = append(out, f.canonical(name))
	}

	for _, s := range d.PortSelectors {
		out = append(out, f.selected(s)...)
	}

	seen := map[string]bool{}

	return slices.DeleteFunc(out, func(name string) bool {
		again := seen[name]
		seen[name] = true

		return again
	})
}

// vlanName returns the name of a tagged link: eth0.25.
func vlanName(parent string, id uint16) string { return fmt.Sprintf("%s.%d", parent, id) }
