// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

// linkLayers proposes links: the loopback and every physical link are up; the kernel's arguments and the configuration have further settings
// and logical links.
func linkLayers(f facts, said remarks) []network.LinkSpecSpec {
	up := func(name string, layer network.ConfigLayer) network.LinkSpecSpec {
		return network.LinkSpecSpec{Name: name, Up: true, Layer: layer}
	}

	specs := []network.LinkSpecSpec{up("lo", network.LayerDefault)}

	if f.mistake != nil {
		said.leftOut("kernel-arguments", f.mistake)
	}

	devices := f.devices(said)
	configured := f.configured(devices)

	for i, l := range f.links {
		if l.Physical() && !configured[f.names[i]] {
			specs = append(specs, up(f.names[i], network.LayerDefault))
		}
	}

	var arguments []device
	for _, l := range f.cmdline.links {
		arguments = append(arguments, device{l, l.Name})
	}

	links := f.described(network.LayerCmdline, f.settings(arguments), said)
	seen := map[string]bool{}

	for _, l := range links {
		seen[l.Name] = true
	}

	for _, ip := range f.cmdline.ips {
		if name := f.device(ip); name != "" && !ip.Off && !seen[name] {
			seen[name] = true
			specs = append(specs, up(name, network.LayerCmdline))
		}
	}

	specs = append(specs, links...)

	return append(specs, f.described(network.LayerConfiguration, f.settings(devices), said)...)
}

// described returns the links of a layer, by their names. A link may have several descriptions, and may be a slave in that of its master.
func (f facts) described(layer network.ConfigLayer, devices []device, said remarks) []network.LinkSpecSpec {
	links := map[string]network.LinkSpecSpec{}

	for _, d := range devices {
		if err := f.addDevice(links, layer, d); err != nil {
			said.leftOut(d.At, fmt.Errorf("link %s: %w", d.name, err))
		}
	}

	return slices.SortedFunc(maps.Values(links), func(a, b network.LinkSpecSpec) int { return cmp.Compare(a.Name, b.Name) })
}

// addDevice adds a link and its slaves, or nothing.
func (f facts) addDevice(links map[string]network.LinkSpecSpec, layer network.ConfigLayer, d device) error {
	described := func(name string) network.LinkSpecSpec {
		if spec, ok := links[name]; ok {
			return spec
		}

		return network.LinkSpecSpec{Name: name, Up: true, Layer: layer}
	}

	spec := described(d.name)
	spec.Up = spec.Up && view.IsTrueOr(d.Up, true)
	spec.MTU = cmp.Or(d.MTU, spec.MTU)
	spec.Multicast = cmp.Or(d.Multicast, spec.Multicast)

	if len(d.HardwareAddr) > 0 {
		spec.HardwareAddress = d.HardwareAddr
	}

	if d.Bridged != "" {
		spec.BridgeSlave.MasterName = f.canonical(d.Bridged)
	}

	if err := f.setKind(&spec, d); err != nil {
		return err
	}

	links[d.name] = spec

	for i, name := range f.slaves(d) {
		slave := described(name)

		switch {
		case d.Bond != nil:
			slave.BondSlave = network.BondSlave{MasterName: d.name, SlaveIndex: i}
		case d.VRF != nil:
			slave.VRFSlave.MasterName = d.name
		default:
			slave.BridgeSlave.MasterName = d.name
		}

		links[name] = slave
	}

	return nil
}

// setKind sets the kind of a logical link, and the settings of the kind.
func (f facts) setKind(spec *network.LinkSpecSpec, d device) (err error) {
	logical := func(kind string, hardware nethelpers.LinkType) {
		spec.Logical, spec.Kind, spec.Type = true, kind, hardware
	}

	switch {
	case d.Bond != nil:
		logical(network.LinkKindBond, nethelpers.LinkTypeEther)

		spec.BondMaster, err = bondSpec(d.Bond)
		spec.BondMaster.Primary = f.canonical(spec.BondMaster.Primary)
	case d.Bridge != nil:
		logical(network.LinkKindBridge, nethelpers.LinkTypeEther)

		spec.BridgeMaster.STP.Enabled, spec.BridgeMaster.VLAN.FilteringEnabled = d.Bridge.STP, d.Bridge.VLANFiltering
	case d.VLAN != nil:
		logical(network.LinkKindVLAN, nethelpers.LinkTypeEther)

		spec.ParentName = f.canonical(d.VLAN.Parent)
		spec.VLAN, err = vlanSpec(d.VLAN)
	case d.VRF != nil:
		logical(network.LinkKindVRF, nethelpers.LinkTypeEther)

		spec.VRFMaster.Table = nethelpers.RoutingTable(d.VRF.Table)
	case d.Veth != nil:
		logical(network.LinkKindVeth, nethelpers.LinkTypeEther)

		spec.Veth.PeerName = d.Veth.Peer
	case d.WireGuard != nil:
		logical(network.LinkKindWireguard, nethelpers.LinkTypeNone)

		spec.Wireguard, err = wireguardSpec(d.WireGuard)
	case d.Dummy:
		logical(network.LinkKindDummy, nethelpers.LinkTypeEther)
	}

	return err
}

func vlanSpec(v *view.VLAN) (network.VLANSpec, error) {
	spec := network.VLANSpec{VID: v.ID, Protocol: nethelpers.VLANProtocol8021Q}
	if v.Mode == "" {
		return spec, nil
	}

	return spec, spec.Protocol.UnmarshalText([]byte(v.Mode))
}
