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
		Short: "Show the networks of a cluster, and inject faults",
		Long: `Show the networks of a running cluster, and inject faults.

NAME is a machine (all its network cards), one of its cards (MACHINE/0, MACHINE/NETWORK), a router or one of its legs
(ROUTER/NETWORK), the gateway (of all networks) or of one network (gateway/NETWORK), or a network (everything on it).
A machine may be named by its address, or without the name of the cluster as prefix.

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

// fullName returns the name in the lab. A machine may be named by its address, or without the cluster's name as prefix.
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

// routerName returns the router of a name, which may be the name of its site.
func routerName(l *lab.Lab, name string) string {
	owner, _, _ := strings.Cut(name, "/")
	part := name[len(owner):]

	if n, ok := l.State().World.Network(owner); ok && n.Router != "" {
		owner = n.Router
	}

	return owner + part
}

// completion completes the first arguments of a command, one for each function, with names of the cluster.
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
