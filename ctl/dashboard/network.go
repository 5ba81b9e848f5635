// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/ctl/session"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	timeres "github.com/seed-59268b81/talos/resources/time"
)

var machineType = kindOf[config.MachineTypeSpec]()

// network returns the lines of the network screen.
func (m *model) network(n *Node, height int) []string {
	lines := []string{" " + heading.Styled("STATE")}
	lines = append(lines, networkState(n)...)
	lines = append(lines, "", " "+heading.Styled("LINKS"))
	lines = append(lines, shift(linkTable(n))...)
	lines = append(lines, "", " "+heading.Styled("ROUTES"))
	lines = append(lines, shift(routeTable(n))...)

	return m.scroll(lines, height)
}

func shift(lines []string) []string {
	for i := range lines {
		lines[i] = "   " + lines[i]
	}

	return lines
}

func networkState(n *Node) []string {
	host, _ := spec[network.HostnameStatusSpec](n, network.HostnameID)
	status, known := spec[network.StatusSpec](n, network.StatusID)
	resolvers, _ := spec[network.ResolverStatusSpec](n, network.ResolverID)
	servers, _ := spec[network.TimeServerStatusSpec](n, network.TimeServerID)
	clock, clockKnown := spec[timeres.StatusSpec](n, timeres.StatusID)
	own, _ := spec[network.NodeAddressSpec](n, network.NodeAddressCurrentID)

	line := func(name, value string) string { return fmt.Sprintf("   %-14s%s", name, value) }

	lines := []string{
		line("hostname", clean(host.FQDN())),
		line("addresses", joined(own.Addresses)),
		line("name servers", joined(resolvers.DNSServers)),
		line("time servers", clean(strings.Join(servers.NTPServers, " "))),
	}

	if known {
		lines = append(lines, line("ready", strings.Join([]string{
			state("addresses", status.AddressReady), state("connectivity", status.ConnectivityReady),
			state("hostname", status.HostnameReady), state("files", status.EtcFilesReady), state("time", clockKnown && clock.Usable()),
		}, "  ")))
	}

	return lines
}

func state(name string, on bool) string {
	if on {
		return good.Styled("✓ " + name)
	}

	return bad.Styled("✗ " + name)
}

func joined[T fmt.Stringer](list []T) string { return strings.Join(session.Names(list, T.String), " ") }

// linkTable returns the links with their addresses, physical links first.
func linkTable(n *Node) []string {
	addresses := map[string][]netip.Prefix{}
	for _, a := range specs[network.AddressStatusSpec](n) {
		addresses[a.spec.LinkName] = append(addresses[a.spec.LinkName], a.spec.Address)
	}

	links := specs[network.LinkStatusSpec](n)
	slices.SortStableFunc(links, func(a, b entry[network.LinkStatusSpec]) int {
		return rank(a.spec) - rank(b.spec)
	})

	rows := make([][]string, len(links))

	for i, l := range links {
		carrier := bad.Styled("down")
		if l.spec.LinkState {
			carrier = good.Styled("up")
		}

		kind := cmp.Or(l.spec.Kind, l.spec.Type.String())
		rows[i] = []string{l.id, clean(kind), carrier, l.spec.HardwareAddr.String(), fmt.Sprint(l.spec.MTU), joined(addresses[l.id])}
	}

	return table([]string{"LINK", "KIND", "STATE", "HARDWARE", "MTU", "ADDRESSES"}, rows)
}

func rank(l network.LinkStatusSpec) int {
	switch {
	case l.Physical():
		return 0
	case l.Type == nethelpers.LinkTypeLoopback:
		return 2
	default:
		return 1
	}
}

// routeTable returns the routes of the main table. Other tables have routes of the kernel or of tunnels.
func routeTable(n *Node) []string {
	var rows [][]string

	for _, r := range specs[network.RouteStatusSpec](n) {
		if r.spec.Table != nethelpers.TableMain {
			continue
		}

		to, gateway := "default", ""
		if r.spec.Destination.IsValid() {
			to = r.spec.Destination.String()
		}

		if r.spec.Gateway.IsValid() {
			gateway = r.spec.Gateway.String()
		}

		rows = append(rows, []string{to, gateway, clean(r.spec.OutLinkName), fmt.Sprint(r.spec.Priority), r.spec.Protocol.String()})
	}

	return table([]string{"DESTINATION", "GATEWAY", "LINK", "METRIC", "FROM"}, rows)
}
