// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

// linkLayers proposes links: the loopback and every physical link are up; ip= and the configuration have further settings and logical
// links.
func linkLayers(f facts, log *slog.Logger) ([]network.LinkSpecSpec, error) {
	up := func(name string, layer network.ConfigLayer) network.LinkSpecSpec {
		return network.LinkSpecSpec{Name: name, Up: true, Layer: layer}
	}

	specs := []network.LinkSpecSpec{up("lo", network.LayerDefault)}

	devices := f.devices(log)
	configured := f.configured(devices)

	for i, l := range f.links {
		if l.Physical() && !configured[f.names[i]] {
			specs = append(specs, up(f.names[i], network.LayerDefault))
		}
	}

	seen := map[string]bool{}

	for _, ip := range f.cmdline.ips {
		if name := f.device(ip); name != "" && !ip.Off && !seen[name] {
			seen[name] = true
			specs = append(specs, up(name, network.LayerCmdline))
		}
	}

	// A link may have several entries, and may be a slave in the entry of its master.
	links := map[string]network.LinkSpecSpec{}

	for _, d := range devices {
		if f.ignored(devices, d.name) {
			continue
		}

		if err := f.addDevice(links, d); err != nil {
			return nil, fmt.Errorf("machine.network.interfaces %s: %w", d.name, err)
		}
	}

	return append(specs, slices.SortedFunc(maps.Values(links), func(a, b network.LinkSpecSpec) int { return cmp.Compare(a.Name, b.Name) })...), nil
}

// addDevice adds the links of one entry: the device, its VLANs and its slaves.
func (f facts) addDevice(links map[string]network.LinkSpecSpec, d device) error {
	change := func(name string, fn func(*network.LinkSpecSpec)) {
		spec, ok := links[name]
		if !ok {
			spec = network.LinkSpecSpec{Name: name, Up: true, Layer: network.LayerConfiguration}
		}

		fn(&spec)
		links[name] = spec
	}

	logical := func(spec *network.LinkSpecSpec, kind string) {
		spec.Logical, spec.Kind, spec.Type = true, kind, nethelpers.LinkTypeEther
	}

	var err error

	change(d.name, func(spec *network.LinkSpecSpec) {
		spec.MTU = cmp.Or(d.MTU, spec.MTU)

		switch {
		case d.Bond != nil:
			logical(spec, network.LinkKindBond)

			spec.BondMaster, err = bondSpec(d.Bond)
		case d.Bridge != nil:
			logical(spec, network.LinkKindBridge)

			spec.BridgeMaster = bridgeSpec(d.Bridge)
		case view.IsTrue(d.Dummy):
			logical(spec, network.LinkKindDummy)
		}

		if d.BridgePort != nil {
			spec.BridgeSlave.MasterName = f.canonical(d.BridgePort.Master)
		}
	})

	for i, slave := range f.slaves(d) {
		change(slave, func(spec *network.LinkSpecSpec) {
			if d.Bond != nil {
				spec.BondSlave = network.BondSlave{MasterName: d.name, SlaveIndex: i}
			} else {
				spec.BridgeSlave.MasterName = d.name
			}
		})
	}

	for _, vlan := range d.VLANs {
		change(vlanName(d.name, vlan.ID), func(spec *network.LinkSpecSpec) {
			logical(spec, network.LinkKindVLAN)

			spec.ParentName, spec.MTU = d.name, vlan.MTU
			spec.VLAN = network.VLANSpec{VID: vlan.ID, Protocol: nethelpers.VLANProtocol8021Q}
		})
	}

	return err
}

func bridgeSpec(b *view.Bridge) network.BridgeMasterSpec {
	return network.BridgeMasterSpec{
		STP:  network.STPSpec{Enabled: b.STP != nil && view.IsTrue(b.STP.Enabled)},
		VLAN: network.BridgeVLANSpec{FilteringEnabled: b.VLAN != nil && view.IsTrue(b.VLAN.Filtering)},
	}
}
