// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/control"
	"github.com/seed-59268b81/talos/lab/world"
)

func newNetShowCommand(p *place) *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Show networks, routers, cards and faults",
		Args:  cobra.NoArgs,
		RunE: p.run(func(cmd *cobra.Command, l *lab.Lab, _ []string) error {
			status, err := l.Status(cmd.Context())
			if err != nil {
				return err
			}

			return netShow(cmd.OutOrStdout(), l, status)
		}),
	}
}

func netShow(out io.Writer, l *lab.Lab, status *control.Status) error {
	w := &l.State().World
	t := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)

	fmt.Fprintln(t, "NETWORK\tSUBNET\tGATEWAY\tDEFAULT ROUTER\tMTU\tLEADS OUT\tSERVICES\tGATEWAY'S LINK")

	for _, n := range status.Networks {
		made, _ := w.Network(n.Name)

		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", n.Name, join46(made.Subnet4, made.Subnet6), join46(made.Gateway4, made.Gateway6),
			cmp.Or(made.Router, "gateway"), made.MTU, map[bool]string{true: "no", false: "yes"}[made.Offline], describeServices(n.Services), describe(n.Gateway.Link))
	}

	if len(status.Routers) > 0 {
		fmt.Fprintln(t, "\nROUTER\tNETWORK\tADDRESS\tNAT\tFILTER\tLINK")
	}

	for _, r := range status.Routers {
		made, _ := w.Router(r.Name)

		for _, leg := range r.Legs {
			at, _ := made.Leg(leg.Network)
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, leg.Network, join46(at.Addr4, at.Addr6),
				describeNAT(leg.NAT), describeFilter(leg.Setting), describe(leg.Link))
		}
	}

	fmt.Fprintln(t, "\nCARD\tNETWORK\tADDRESS\tMAC\tPLUGGED IN\tLINK\tSENT\tRECEIVED\tLOST")

	for i, n := range status.Nodes {
		for c, card := range n.Cards {
			made := l.Node(i).Cards[c]
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\n", card.Name, card.Network, join46(made.Addr4, made.Addr6), made.MAC,
				map[bool]string{true: "no", false: "yes"}[card.Unplugged], describe(card.Link),
				humanize.IBytes(card.Traffic.SentBytes), humanize.IBytes(card.Traffic.ReceivedBytes),
				card.Traffic.Lost+card.Traffic.Cut+card.Traffic.Dropped)
		}
	}

	if len(status.Paths) > 0 {
		fmt.Fprintln(t, "\nFROM\tTO\tNETWORK\tPATH")
	}

	for _, path := range status.Paths {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", path.From, path.To, path.Network, path.Impairment)
	}

	return t.Flush()
}

// describeFilter describes what a router's leg does not let through.
func describeFilter(s world.Setting) string {
	switch {
	case s.BlockUDP && s.SilentTooBig:
		return "no UDP; too big is lost silently"
	case s.BlockUDP:
		return "no UDP"
	case s.SilentTooBig:
		return "too big is lost silently"
	}

	return "none"
}
