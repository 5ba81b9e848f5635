// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"

	"github.com/seed-59268b81/talos/resources/files"
	"github.com/seed-59268b81/talos/resources/network"
)

// networkRule explains a network that is not ready.
func networkRule(_ *Facts, s Symptom, status network.StatusSpec) *Finding {
	if status.Ready() {
		return nil
	}

	finding := &Finding{}

	var missing []string

	need := func(ready bool, field string, because ...Symptom) {
		if !ready {
			missing = append(missing, field)
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

	return finding
}

// physical returns the physical links with and without a carrier.
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

// cableRule reports a machine without a network card that has a carrier.
func cableRule(f *Facts, s Symptom) *Finding {
	up, down := physical(f)

	switch {
	case len(up) > 0 || !f.lists(typeOf[network.LinkStatusSpec]()):
		return nil
	case len(down) == 0:
		return &Finding{
			Says:     "the kernel has no network card",
			Evidence: []string{"LinkStatuses: none of type ether that is not virtual"},
			Try:      "check that the machine has one, and that its driver is in the image: talosctl get links, talosctl dmesg",
		}
	default:
		return &Finding{
			Says:     "no network card has a carrier: " + strings.Join(down, ", "),
			Evidence: []string{"LinkStatuses: linkState is false for " + strings.Join(down, ", ")},
			Try:      "plug in the cable, or check the port of the switch",
		}
	}
}

// way says where a route leads, with a space after it.
func way(r network.RouteSpecSpec) (text string) {
	if r.Gateway.IsValid() {
		text = "by " + r.Gateway.String() + " "
	}

	if r.OutLinkName != "" {
		text += "on " + r.OutLinkName + " "
	}

	return text
}

// routeRule explains a missing default route.
func routeRule(f *Facts, s Symptom) *Finding {
	routes := all[network.RouteStatusSpec](f, "")
	isDefault := func(r item[network.RouteStatusSpec]) bool { return r.spec.IsDefault() }

	if !f.lists(typeOf[network.RouteStatusSpec]()) || slices.ContainsFunc(routes, isDefault) {
		return nil
	}

	finding := &Finding{
		Says:     "there is no default route",
		Evidence: []string{fmt.Sprintf("RouteStatuses: %s, none of them a default route", english.Plural(len(routes), "route", ""))},
		Because:  []Symptom{{Kind: Address}},
	}

	for _, wanted := range all[network.RouteSpecSpec](f, network.NamespaceName) {
		if wanted.spec.IsDefault() {
			finding.Says = fmt.Sprintf("the default route %sis specified, but the kernel does not have it", way(wanted.spec))
			finding.Evidence = append(finding.Evidence, wanted.Name()+": from layer "+wanted.spec.Layer.String())

			if c, ok := condition(f, network.ConditionRoute, wanted.ID); ok {
				finding.Evidence = append(finding.Evidence, c)
			}

			finding.Try = "check that the gateway is in the network of one of the link's addresses: talosctl get addresses, talosctl get routespecs"

			return finding
		}
	}

	finding.Evidence = append(finding.Evidence, "RouteSpecs: no default route by configuration or DHCP")

	for _, a := range all[network.AddressSpecSpec](f, network.NamespaceName) {
		if a.spec.LinkName != "lo" {
			finding.Evidence = append(finding.Evidence, fmt.Sprintf("%s: %s on %s, from layer %s", a.Name(), a.spec.Address, a.spec.LinkName, a.spec.Layer))
		}
	}

	finding.Try = "add a route with a gateway to the machine configuration (machine.network.interfaces[].routes, network 0.0.0.0/0), or let the DHCP server send a router"

	return finding
}

// condition returns the condition of a spec that is not applied.
func condition(f *Facts, kind, id string) (string, bool) {
	id = network.SpecConditionID(kind, id)

	c, ok := find[network.SpecConditionSpec](f, id)
	if !ok || c.State == network.SpecApplied {
		return "", false
	}

	return fmt.Sprintf("%s: %s: %s", name(typeOf[network.SpecConditionSpec](), network.NamespaceName, id), c.State, c.Cause), true
}

// conditionOf returns the rule of specs whose conditions are of the kind.
func conditionOf(kind string) rule {
	return func(f *Facts, s Symptom) *Finding {
		id := network.SpecConditionID(kind, s.ID)

		c, ok := find[network.SpecConditionSpec](f, id)
		if !ok || s.Namespace != network.NamespaceName {
			return resourceRule(f, s)
		}

		return specRule(f, instance[network.SpecConditionSpec](network.NamespaceName, id), c)
	}
}

// specRule explains a spec of the network by its condition. A degraded spec is in effect.
func specRule(f *Facts, s Symptom, c network.SpecConditionSpec) *Finding {
	id := s.ID
	finding := &Finding{Evidence: []string{name(s.Type, s.Namespace, id) + ": state " + c.State.String()}}

	if at, ok := strings.CutPrefix(id, network.ConditionSetting+"/"); ok && c.State != network.SpecApplied {
		return notInEffect(at, c.Cause, finding.Evidence[0])
	}

	switch c.State {
	case network.SpecApplied:
		return nil
	case network.SpecDegraded:
		finding.Says = id + " is in effect and could not be confirmed: " + c.Cause
		finding.Try = "check that the DHCP server runs and can be reached from this machine's network"
	case network.SpecWaiting:
		finding.Says = id + " is waiting: " + c.Cause

		_, link := origin(f, id)
		if _, unapplied := condition(f, network.ConditionLink, link); unapplied {
			finding.Because = []Symptom{instance[network.SpecConditionSpec](network.NamespaceName, network.SpecConditionID(network.ConditionLink, link))}
		}

		finding.Try = "see what it waits for: talosctl get links, talosctl get addresses, talosctl get specconditions"
	default:
		if address, ok := strings.CutPrefix(id, network.ConditionConflict+"/"); ok {
			finding.Says = address + " is in use by another machine: " + c.Cause
			finding.Try = "find that machine and give one of the two another address; a DHCP server must not lease addresses that are configured elsewhere"

			break
		}

		finding.Says = id + " is not in effect: " + c.Cause
		finding.Try = "change it in the machine configuration (machine.network.interfaces)"
	}

	return finding
}

// addressRule explains a machine without an address.
func addressRule(f *Facts, s Symptom) *Finding {
	addresses, _ := find[network.NodeAddressSpec](f, network.NodeAddressCurrentID)
	if len(addresses.Addresses) > 0 || !f.lists(typeOf[network.AddressStatusSpec]()) {
		return nil
	}

	up, down := physical(f)

	evidence := []string{name(typeOf[network.NodeAddressSpec](), network.NamespaceName, network.NodeAddressCurrentID) + ": no addresses"}
	if conditions := unapplied(f); len(conditions) > 0 {
		evidence = append(evidence, conditions...)
	} else {
		evidence = append(evidence, "AddressSpecs: only those of the loopback, none by configuration or DHCP")
	}

	return &Finding{
		Says:     "the machine has no address on " + strings.Join(append(up, down...), ", "),
		Evidence: evidence,
		Because:  append(failingOf(f, typeOf[network.AddressSpecSpec]()), Symptom{Kind: Cable}),
		Try:      "check that a DHCP server answers on the machine's network, or set an address in machine.network.interfaces[].addresses",
	}
}

// unapplied returns the conditions of addresses and operators that are not applied.
func unapplied(f *Facts) []string {
	var out []string

	for _, c := range all[network.SpecConditionSpec](f, network.NamespaceName) {
		kind, _, _ := strings.Cut(c.ID, "/")
		if c.spec.State != network.SpecApplied && (kind == network.ConditionAddress || kind == network.ConditionOperator) {
			out = append(out, fmt.Sprintf("%s: %s: %s", c.Name(), c.spec.State, c.spec.Cause))
		}
	}

	return out
}

// namesRule reports a machine without a name server.
func namesRule(f *Facts, s Symptom) *Finding {
	resolvers, ok := find[network.ResolverStatusSpec](f, network.ResolverID)
	if ok && len(resolvers.DNSServers) == 0 {
		return &Finding{
			Says:     "the machine has no name server",
			Evidence: []string{name(typeOf[network.ResolverStatusSpec](), network.NamespaceName, network.ResolverID) + ": dnsServers is empty"},
			Try:      "set machine.network.nameservers, or let the DHCP server send one",
		}
	}

	return nil
}
