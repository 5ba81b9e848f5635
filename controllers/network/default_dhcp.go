// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"slices"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/network/linkalias"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/resources/network"
)

// EndsDHCP returns a function that says on which network cards another configuration ends the DHCP that runs on them by default, so that
// nothing gives them an address any more. It is about cards with a carrier: others have no address to lose.
func EndsDHCP(ctx context.Context, r state.Reader) (func(next *view.Config) []string, error) {
	now, err := readFacts(ctx, r)
	if err != nil || now == nil {
		return func(*view.Config) []string { return nil }, err
	}

	return func(next *view.Config) []string { return now.endsDHCP(next) }, nil
}

func (f facts) endsDHCP(next *view.Config) []string {
	var cards []string

	for _, o := range operatorLayers(f, nil) {
		i := slices.Index(f.names, o.LinkName)
		if o.Layer == network.LayerDefault && o.Operator == network.OperatorDHCP4 && i >= 0 && f.links[i].LinkState {
			cards = append(cards, o.LinkName)
		}
	}

	after := f
	after.config, after.links = next, f.aliased(next)
	used := after.used()

	return slices.DeleteFunc(cards, func(name string) bool { return used[name] })
}

// used returns the links that have a DHCP client or an address of their own, or carry other links.
func (f facts) used() map[string]bool {
	used := map[string]bool{}

	for _, o := range operatorLayers(f, nil) {
		used[o.LinkName] = true
	}

	for _, a := range addressLayers(f, nil) {
		used[a.LinkName] = true
	}

	for _, l := range linkLayers(f, nil) {
		used[l.ParentName] = true
		used[l.Name] = used[l.Name] || l.MasterName() != ""
	}

	devices := f.devices(nil)

	for _, name := range f.names {
		used[name] = used[name] || f.ignored(devices, name)
	}

	for _, name := range f.platform {
		used[name] = true
	}

	return used
}

// aliased returns the links with the second names that a configuration gives them.
func (f facts) aliased(cfg *view.Config) []network.LinkStatusSpec {
	status := map[string]network.LinkStatusSpec{}
	for i, name := range f.names {
		status[name] = f.links[i]
	}

	aliases, _ := new(linkalias.Chooser).Choose(cfg.LinkAliases(), status)
	out := slices.Clone(f.links)

	for i, name := range f.names {
		if alias := aliases[name]; alias != "" {
			out[i].AltNames = append(slices.Clone(out[i].AltNames), alias)
		}
	}

	return out
}
