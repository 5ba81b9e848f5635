// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/gateway"
)

func newNetCommand(p *place) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "net",
		Short: "Show a cluster's networks, and make them worse",
		Long: `Show the networks of a running cluster, and make them worse.

NAME is a machine (all its network cards), one card of it (MACHINE/0, MACHINE/NETWORK), a router or one leg of it
(ROUTER/NETWORK), the gateway (all of them) or one of them (gateway/NETWORK), or a network (everything that is on it).
A machine may be named by its address, and without the name of the cluster before it.

Faults last until talosctl cluster net heal, or until the lab is stopped.`,
		Example: `  talosctl cluster net show
  talosctl cluster net delay worker-1 200ms --jitter 20ms
  talosctl cluster net loss worker-1 5%
  talosctl cluster net partition controlplane-1,worker-1 worker-2 --for 1m
  talosctl cluster net nat site-1 symmetric
  talosctl cluster net capture worker-1 -o - | wireshark -k -i -
  talosctl cluster net heal`,
	}

	cmd.AddCommand(newNetShowCommand(p))
	cmd.AddCommand(newLinkCommands(p)...)
	cmd.AddCommand(
		newBlockUDPCommand(p),
		newPartitionCommand(p),
		newNATCommand(p),
		newPlugCommand(p, "plug"),
		newPlugCommand(p, "unplug"),
		newDHCPCommand(p),
		newNTPCommand(p),
		newDNSCommand(p),
		newCaptureCommand(p),
		newHealCommand(p),
	)

	return cmd
}

// fullName is the name in the lab of what a person means: a machine may be named
// by its address or without the cluster's name before it, and a site's router
// by the site where a router is wanted.
func fullName(l *lab.Lab, name string) string {
	owner, _, _ := strings.Cut(name, "/")
	part := name[len(owner):]
	known := l.State().World.Names(l.State().Machines())

	if addr, err := netip.ParseAddr(owner); err == nil {
		for _, n := range l.Nodes() {
			if n.Addr == addr {
				owner = n.Name
			}
		}
	} else if full := l.Name() + "-" + owner; !slices.Contains(known, owner) && slices.Contains(known, full) {
		owner = full
	}

	return owner + part
}

// routerName is the router that a person means by its name or that of its site.
func routerName(l *lab.Lab, name string) string {
	owner, _, _ := strings.Cut(name, "/")
	part := name[len(owner):]

	if n, ok := l.State().World.Network(owner); ok && n.Router != "" {
		owner = n.Router
	}

	return owner + part
}

// completion returns what completes the first arguments of a command, as many as
// there are functions, with names of the cluster.
func completion(p *place, names ...func(*lab.Lab) []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		l, err := p.open()
		if err != nil || len(args) >= len(names) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}

		return names[len(args)](l), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeNames completes every argument with a name.
func completeNames(p *place) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return completion(p, allNames)(cmd, nil, typed)
	}
}

func allNames(l *lab.Lab) []string { return l.State().World.Names(l.State().Machines()) }

func cardNames(l *lab.Lab) []string {
	var all []string

	for _, p := range l.State().World.Ports(l.State().Machines()) {
		if machine, _, ok := strings.Cut(p.Name, "/"); ok && machine != gateway.PortName {
			all = append(all, p.Name)
		}
	}

	return all
}

func networkNames(l *lab.Lab) []string { return l.State().World.NetworkNames() }
func routerNames(l *lab.Lab) []string  { return l.State().World.RouterNames() }
