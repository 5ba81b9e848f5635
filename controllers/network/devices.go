// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"fmt"
	"log/slog"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/network"
)

// device is an entry of machine.network.interfaces with the name of its link.
type device struct {
	view.Device
	name string
}

// devices resolves the entries of the configuration to links. An entry whose selector matches no link waits for one. An entry whose
// selector matches several links is for all of them; settings for one link only, such as addresses, are for the link that the kernel
// found first.
func (f facts) devices(log *slog.Logger) []device {
	var out []device

	entries := f.config.Devices()

	for n, d := range entries {
		name := d.Interface

		if name == "" && d.Selector != nil {
			matches := f.selected(*d.Selector)
			if len(matches) == 0 {
				log.Warn("no link matches a deviceSelector of the configuration", "selector", describe(*d.Selector))

				continue
			}

			for i, match := range matches {
				if i > 0 {
					d = shared(d)
				}

				out = append(out, device{d, match})
			}

			if len(matches) > 1 && !reflect.DeepEqual(d, entries[n]) {
				log.Warn("several links match a deviceSelector of the configuration: settings for one link only are set on the first",
					"selector", describe(*d.Selector), "links", matches)
			}

			continue
		}

		if name != "" {
			out = append(out, device{d, f.canonical(name)})
		}
	}

	return out
}

// linkSettings are the settings of one link: the device itself, or a VLAN on it.
type linkSettings struct {
	name        string
	addresses   []string
	routes      []view.Route
	dhcp        *bool
	dhcpOptions *view.DHCPOptions
}

// settings returns the settings of all links that are not ignored.
func (f facts) settings(devices []device) []linkSettings {
	var out []linkSettings

	for _, d := range devices {
		if f.ignored(devices, d.name) {
			continue
		}

		out = append(out, linkSettings{d.name, d.Addresses, d.Routes, d.DHCP, d.DHCPOptions})

		for _, v := range d.VLANs {
			out = append(out, linkSettings{vlanName(d.name, v.ID), v.Addresses, v.Routes, v.DHCP, v.DHCPOptions})
		}
	}

	return out
}

// shared returns the settings of an entry that several links can have.
func shared(d view.Device) view.Device {
	d.Addresses, d.Routes, d.VLANs, d.Bond, d.Bridge, d.Dummy, d.WireGuard, d.VIP = nil, nil, nil, nil, nil, nil, nil, nil

	return d
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
		slices.ContainsFunc(devices, func(d device) bool { return d.name == name && view.IsTrue(d.Ignore) })
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

	for _, name := range f.cmdline.ignored {
		names[f.canonical(name)] = true
	}

	for _, name := range f.platform {
		names[name] = true
	}

	return names
}

// slaves returns the slaves of a bond or bridge.
func (f facts) slaves(d device) []string {
	var out []string

	if d.Bond != nil {
		out = append(out, d.Bond.Interfaces...)

		for _, s := range d.Bond.DeviceSelectors {
			out = append(out, f.selected(s)...)
		}
	}

	if d.Bridge != nil {
		out = append(out, d.Bridge.Interfaces...)
	}

	for i := range out {
		out[i] = f.canonical(out[i])
	}

	slices.Sort(out)

	return slices.Compact(out)
}

// vlanName returns the name of a tagged link: eth0.25.
func vlanName(parent string, id uint16) string { return fmt.Sprintf("%s.%d", parent, id) }
