// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/control"
	"github.com/seed-59268b81/talos/lab/netswitch"
	"github.com/seed-59268b81/talos/lab/state"
)

func newShowCommand(p *place) *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Show a cluster's machines",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := p.open()
			if err != nil {
				return err
			}

			status := &control.Status{}
			if l.State().Condition() == state.Running {
				if status, err = l.Status(cmd.Context()); err != nil {
					return err
				}
			}

			return show(cmd.OutOrStdout(), l, status, time.Now())
		},
	}
}

func show(out io.Writer, l *lab.Lab, status *control.Status, now time.Time) error {
	s := l.State()
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)

	fmt.Fprintf(w, "CLUSTER\t%s\n", s.Name)
	fmt.Fprintf(w, "CONDITION\t%s\n", s.Explain())
	fmt.Fprintf(w, "CREATED\t%s\n", humanize.RelTime(s.Created, now, "ago", "from now"))
	fmt.Fprintf(w, "NETWORK\t%s, gateway %s, MTU %d%s\n", s.Network.Subnet, s.Network.Gateway, s.Network.MTU,
		map[bool]string{true: ", offline"}[s.Network.Offline])

	if status.Accel != "" {
		fmt.Fprintf(w, "RUNS WITH\t%s: %s\n", status.Accel, status.AccelWhy)
	}

	if status.Containers != "" {
		fmt.Fprintf(w, "CONTAINERS\t%s\n", status.Containers)
	}

	fmt.Fprintf(w, "DIRECTORY\t%s\n\n", s.Dir)

	fmt.Fprintln(w, "NAME\tROLE\tRUNS AS\tADDRESS\tCPUS\tMEMORY\tDISK\tPOWER\tBOOTS\tWHY\tAPI\tKUBERNETES\tLINK")

	for _, n := range l.Nodes() {
		power, boots, why, link := "off", "-", "-", "-"

		for _, m := range status.Nodes {
			if m.Name == n.Name {
				power, why = string(m.Machine.Power), m.Machine.Why
				boots, link = fmt.Sprint(m.Machine.Boots), describe(m.Link)
			}
		}

		kubernetes := "-"
		if n.Role == state.ControlPlane {
			kubernetes = n.KubernetesEndpoint()
		}

		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", n.Name, n.Role, n.As(), n.Addr, n.CPUs,
			humanize.IBytes(uint64(n.MemoryMiB)<<20), humanize.IBytes(uint64(n.DiskGiB)<<30),
			power, boots, why, n.APIEndpoint(), kubernetes, link)
	}

	for _, path := range status.Paths {
		fmt.Fprintf(w, "\nPATH\t%s -> %s: %s\n", path.From, path.To, impairment(path.Impairment))
	}

	return w.Flush()
}

// describe tells what is wrong with a link.
func describe(l netswitch.Link) string {
	switch {
	case l == netswitch.Link{}:
		return "good"
	case l.In == l.Out:
		return impairment(l.In)
	case l.Out == netswitch.Impairment{}:
		return "in: " + impairment(l.In)
	case l.In == netswitch.Impairment{}:
		return "out: " + impairment(l.Out)
	}

	return "in: " + impairment(l.In) + ", out: " + impairment(l.Out)
}

func impairment(i netswitch.Impairment) string {
	if i.Cut {
		return "cut"
	}

	text := ""
	if i.Delay > 0 || i.Jitter > 0 {
		text = fmt.Sprintf("delay %v±%v", i.Delay, i.Jitter)
	}

	if i.Loss > 0 {
		if text != "" {
			text += " "
		}

		text += fmt.Sprintf("loss %.3g%%", i.Loss*100)
	}

	return text
}
