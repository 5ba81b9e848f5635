// SPDX-License-Identifier: Apache-2.0

package network

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/ethtool"
)

// tcpDataSplit is the one switch that is not 0 or 1.
const tcpDataSplit = "tcp-data-split"

// wantedSettings returns the settings of a spec.
func wantedSettings(spec network.EthernetSpecSpec) ethtool.Settings {
	s := ethtool.Settings{Rings: numbersOf(spec.Rings), Channels: numbersOf(spec.Channels), Features: spec.Features}

	if len(spec.WakeOnLAN) > 0 {
		wake := uint32(0)
		for _, mode := range spec.WakeOnLAN {
			wake |= uint32(mode)
		}

		s.Wake = &wake
	}

	return s
}

// numbersOf returns the fields of a struct of rings or channels that are set, by their names in YAML, which are those of ethtool.
func numbersOf(spec any) map[string]uint32 {
	out := map[string]uint32{}

	for field, v := range fieldsOf(reflect.ValueOf(spec)) {
		switch n := v.Interface().(type) {
		case *uint32:
			if n != nil {
				out[field] = *n
			}
		case *bool:
			if n != nil {
				out[field] = switched(field, *n)
			}
		}
	}

	return out
}

// fill sets the fields of a struct of rings or channels.
func fill(status any, numbers map[string]uint32) {
	for field, v := range fieldsOf(reflect.ValueOf(status).Elem()) {
		n, ok := numbers[field]
		if !ok {
			continue
		}

		switch p := v.Addr().Interface().(type) {
		case **uint32:
			*p = &n
		case **bool:
			on := n == switched(field, true)
			*p = &on
		}
	}
}

func fieldsOf(v reflect.Value) map[string]reflect.Value {
	out := map[string]reflect.Value{}

	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		out[name] = v.Field(i)
	}

	return out
}

func switched(name string, on bool) uint32 {
	switch {
	case name == tcpDataSplit && on:
		return ethtool.SplitOn
	case name == tcpDataSplit:
		return ethtool.SplitOff
	case on:
		return 1
	default:
		return 0
	}
}

// ethernetStatus returns the status of a link with settings.
func ethernetStatus(link network.LinkStatusSpec, s ethtool.Settings) network.EthernetStatusSpec {
	status := network.EthernetStatusSpec{
		LinkState: &link.LinkState, SpeedMegabits: link.SpeedMegabits, Port: link.Port, Duplex: link.Duplex,
		OurModes: s.OurModes, PeerModes: s.PeerModes,
	}

	if len(s.Rings) > 0 {
		status.Rings = &network.EthernetRingsStatus{}
		fill(status.Rings, s.Rings)
	}

	if len(s.Channels) > 0 {
		status.Channels = &network.EthernetChannelsStatus{}
		fill(status.Channels, s.Channels)
	}

	for _, name := range slices.Sorted(maps.Keys(s.Features)) {
		text := "off"
		if s.Features[name] {
			text = "on"
		}

		if s.Fixed[name] {
			text += " [fixed]"
		}

		status.Features = append(status.Features, network.EthernetFeatureStatus{Name: name, Status: text})
	}

	for bit := range 32 {
		if mode := uint32(1) << bit; s.Wake != nil && *s.Wake&mode != 0 {
			status.WakeOnLAN = append(status.WakeOnLAN, nethelpers.WOLMode(mode))
		}
	}

	return status
}
