// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// networkConfig is cloud-init's network configuration, version 1 or 2, with or without the key network around it. What it has and this
// package does not read is ignored, with a remark for each key.
// https://docs.cloud-init.io/en/latest/reference/network-config.html
type networkConfig struct {
	Network *networkConfig `yaml:"network"`
	Version int            `yaml:"version"`

	Config []configV1 `yaml:"config"`

	Ethernets map[string]linkV2 `yaml:"ethernets"`
	Bonds     map[string]linkV2 `yaml:"bonds"`
	Bridges   map[string]linkV2 `yaml:"bridges"`
	VLANs     map[string]linkV2 `yaml:"vlans"`

	Others others `yaml:",inline"`
}

// read adds the network to a machine.
func (n *networkConfig) read(m *Machine, r *reader) {
	const what = "network-config"

	// The renderer is the program that applies the configuration on a distribution of Linux.
	n.Others.ignore(what, "", r, "renderer")

	if n.Network != nil {
		n = n.Network
		n.Network = nil
		n.Others.ignore(what, "", r, "renderer")
	}

	switch n.Version {
	case 1:
		n.readV1(m, r)
	case 2:
		n.readV2(m, r)
	default:
		r.ignore(what, fmt.Errorf("version %d: want 1 or 2", n.Version))
	}
}

// others are the keys of an object that have no field.
type others map[string]yaml.Node

// ignore remarks on each key except those without meaning for this machine. The prefix is the path of the object with a dot behind it.
func (o others) ignore(what, prefix string, r *reader, without ...string) {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(without, key) {
			r.ignore(what, fmt.Errorf("%s%s is not supported", prefix, key))
		}
	}
}

// list is one text, texts with spaces between them, or a list.
type list []string

// UnmarshalYAML implements yaml.Unmarshaler.
func (l *list) UnmarshalYAML(node *yaml.Node) error {
	var many []string
	if err := node.Decode(&many); err == nil {
		*l = many

		return nil
	}

	var one string
	if err := node.Decode(&one); err != nil {
		return err
	}

	*l = strings.Fields(one)

	return nil
}

// destination reads where a route goes. It returns false if the text cannot be read: such a route must not become a default route.
func (r *reader) destination(what, text, mask string) (netip.Prefix, bool) {
	if text == "" || text == "default" {
		return netip.Prefix{}, true
	}

	var p netip.Prefix
	if mask != "" && !strings.Contains(text, "/") {
		p = r.masked(what, text, mask)
	} else {
		p = r.prefix(what, text)
	}

	return p, p.IsValid()
}

// gateway reads a gateway. It returns false if the text cannot be read: such a route must not become one to the link's own network.
func (r *reader) gateway(what, text string) (netip.Addr, bool) {
	a := r.addr(what, text)

	return a, text == "" || a.IsValid()
}

var errNoGateway = errors.New("a default route without a gateway is not supported")

// route adds a route; one to everywhere is a default route, which needs a gateway.
func (l *Link) route(route Route, r *reader) {
	switch {
	case route.Destination.IsValid() && route.Destination.Bits() > 0:
		route.Destination = route.Destination.Masked()
		l.Routes = append(l.Routes, route)
	case !route.Gateway.IsValid() || route.Gateway.IsUnspecified():
		r.ignore(l.Name, errNoGateway)
	case route.OnLink || route.Table != 0:
		route.Destination = netip.Prefix{}
		l.Routes = append(l.Routes, route)
	default:
		before := len(l.Routes)
		l.defaultRoute(route.Gateway, route.Metric)

		for i := before; i < len(l.Routes); i++ {
			l.Routes[i].Source, l.Routes[i].MTU = route.Source, route.MTU
		}
	}
}
