// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/resources/files"
	"github.com/seed-59268b81/talos/resources/network"
)

// networkRule reads NetworkStatus.
func networkRule(f *Facts, s Symptom) (*Finding, bool) {
	if s.Kind != InstanceOf || s.Type != typeOf[network.StatusSpec]() {
		return nil, false
	}

	status, ok := find[network.StatusSpec](f, s.ID)
	if !ok {
		return nil, false
	}

	if status.Ready() {
		return nil, true
	}

	finding := &Finding{}

	var missing []string

	need := func(ready bool, word string, because ...Symptom) {
		if !ready {
			missing = append(missing, word)
			finding.Because = append(finding.Because, because...)
		}
	}

	need(status.AddressReady, "addressReady", Symptom{Kind: Address})
	need(status.ConnectivityReady, "connectivityReady", Symptom{Kind: Route})
	need(status.HostnameReady, "hostnameReady", instance[network.HostnameStatusSpec](network.NamespaceName, network.HostnameID))
	need(status.EtcFilesReady, "etcFilesReady",
		instance[files.EtcFileStatusSpec](files.NamespaceName, files.Hosts), instance[files.EtcFileStatusSpec](files.NamespaceName, files.ResolvConf))

	finding.Says = "the network is not ready: " + strings.Join(missing, ", ") + " is false"
	finding.Evidence = []string{name(s.Type, s.Namespace, s.ID) + ": " + strings.Join(missing, ", ") + ": false"}
	finding.Vague = true

	return finding, true
}

// physical links, with whether each has a carrier.
func physical(f *Facts) (up, down []string) {
	for _, l := range all[network.LinkStatusSpec](f, "") {
		switch {
		case !l.spec.Physical():
		case l.spec.LinkState:
			up = append(up, l.ID)
		default:
			down = append(down, l.ID)
		}
	}

	return up, down
}

// cableRule: is there a network to speak of.
func cableRule(f *Facts, s Symptom) (*Finding, bool) {
	if s.Kind != Cable {
		return nil, false
	}

	up, down := physical(f)

	switch {
	case len(up) > 0 || !f.lists(typeOf[network.LinkStatusSpec]()):
		return nil, true
	case len(down) == 0:
		return &Finding{
			Says:     "the machine has no network card that the kernel knows",
			Evidence: []string{"LinkStatuses: none of type ether that is not virtual"},
			Try:      "see that the machine has one, and that its driver is in the image: talosctl get links, talosctl dmesg",
		}, true
	default:
		return &Finding{
			Says:     "no network card has a carrier: " + strings.Join(down, ", "),
			Evidence: []string{"LinkStatuses: linkState is false for " + strings.Join(down, ", ")},
			Try:      "plug in the cable, or see to the switch's port",
		}, true
	}
}

// routeRule: is there a default route, and if not, who should have made it.
func routeRule(f *Facts, s Symptom) (*Finding, bool) {
	if s.Kind != Route {
		return nil, false
	}

	routes := all[network.RouteStatusSpec](f, "")
	isDefault := func(r item[network.RouteStatusSpec]) bool { return r.spec.IsDefault() }

	if !f.lists(typeOf[network.RouteStatusSpec]()) || slices.ContainsFunc(routes, isDefault) {
		return nil, true
	}

	finding := &Finding{
		Says:     "there is no default route",
		Evidence: []string{fmt.Sprintf("RouteStatuses: %s, none of them with a gateway to everywhere", count(len(routes), "route"))},
		Because:  []Symptom{{Kind: Address}},
	}

	for _, wanted := range all[network.RouteSpecSpec](f, network.NamespaceName) {
		if !wanted.spec.Destination.IsValid() && wanted.spec.Gateway.IsValid() {
			finding.Says = fmt.Sprintf("the default route by %s on %s is wanted, but the kernel does not have it", wanted.spec.Gateway, wanted.spec.OutLinkName)
			finding.Evidence = append(finding.Evidence, wanted.Name()+": from layer "+wanted.spec.Layer.String())

			if status, fails := f.failing(setter(f)); fails {
				finding.Evidence = append(finding.Evidence, setter(f)+": "+status.Error)
			}

			finding.Try = "see that the gateway is in the network of one of the link's addresses: talosctl get addresses, talosctl get routespecs"

			return finding, true
		}
	}

	finding.Evidence = append(finding.Evidence, "RouteSpecs: none for a default route, neither by configuration nor by DHCP")

	for _, a := range all[network.AddressSpecSpec](f, network.NamespaceName) {
		if a.spec.LinkName != "lo" {
			finding.Evidence = append(finding.Evidence, fmt.Sprintf("%s: %s on %s, from layer %s", a.Name(), a.spec.Address, a.spec.LinkName, a.spec.Layer))
		}
	}

	finding.Try = "add a route with a gateway to the machine configuration (machine.network.interfaces[].routes, network 0.0.0.0/0), or have the DHCP server tell a router"

	return finding, true
}

// setter is the controller that sets routes.
func setter(f *Facts) string {
	for _, e := range f.Edges {
		if !e.Output && e.Type == typeOf[network.RouteSpecSpec]() && e.Namespace == network.NamespaceName {
			return e.Controller
		}
	}

	return ""
}

// addressRule: has the machine an address.
func addressRule(f *Facts, s Symptom) (*Finding, bool) {
	if s.Kind != Address {
		return nil, false
	}

	addresses, _ := find[network.NodeAddressSpec](f, network.NodeAddressCurrentID)
	if len(addresses.Addresses) > 0 || !f.lists(typeOf[network.AddressStatusSpec]()) {
		return nil, true
	}

	up, down := physical(f)

	return &Finding{
		Says: "the machine has no address on " + strings.Join(append(up, down...), ", "),
		Evidence: []string{
			name(typeOf[network.NodeAddressSpec](), network.NamespaceName, network.NodeAddressCurrentID) + ": no addresses",
			"AddressSpecs: none but of the loopback, neither by configuration nor by DHCP",
		},
		Because: append(failingOf(f, typeOf[network.AddressSpecSpec]()), Symptom{Kind: Cable}),
		Try:     "see that a DHCP server answers on the machine's network, or give it an address in machine.network.interfaces[].addresses",
	}, true
}

// namesRule: can the machine resolve names.
func namesRule(f *Facts, s Symptom) (*Finding, bool) {
	if s.Kind != Names {
		return nil, false
	}

	resolvers, ok := find[network.ResolverStatusSpec](f, network.ResolverID)
	if ok && len(resolvers.DNSServers) == 0 {
		return &Finding{
			Says:     "the machine has no name server",
			Evidence: []string{name(typeOf[network.ResolverStatusSpec](), network.NamespaceName, network.ResolverID) + ": dnsServers is empty"},
			Try:      "set machine.network.nameservers, or have the DHCP server tell one",
		}, true
	}

	return nil, true
}
