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
	"github.com/seed-59268b81/talos/lab/state"
)

func newShowCommand(p *place) *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Show a cluster's machines",
		Args:  cobra.NoArgs,
		RunE: p.run(func(cmd *cobra.Command, l *lab.Lab, _ []string) error {
			status := &control.Status{}
			if l.State().Condition() == state.Running {
				var err error
				if status, err = l.Status(cmd.Context()); err != nil {
					return err
				}
			}

			return show(cmd.OutOrStdout(), l, status, time.Now())
		}),
	}
}

func show(out io.Writer, l *lab.Lab, status *control.Status, now time.Time) error {
	s := l.State()
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)

	fmt.Fprintf(w, "CLUSTER\t%s\n", s.Name)
	fmt.Fprintf(w, "CONDITION\t%s\n", s.Explain())
	fmt.Fprintf(w, "CREATED\t%s\n", humanize.RelTime(s.Created, now, "ago", "from now"))

	for _, n := range s.World.Networks {
		fmt.Fprintf(w, "NETWORK\t%s: %s, gateway %s, MTU %d%s\n", n.Name, join46(n.Subnet4, n.Subnet6), join46(n.Gateway4, n.Gateway6), n.MTU,
			map[bool]string{true: ", offline"}[n.Offline])
	}

	if status.Accel != "" {
		fmt.Fprintf(w, "RUNS WITH\t%s: %s\n", status.Accel, status.AccelWhy)
	}

	if status.Containers != "" {
		fmt.Fprintf(w, "CONTAINERS\t%s\n", status.Containers)
	}

	if s.KubernetesPort != 0 {
		fmt.Fprintf(w, "KUBERNETES\t%s leads to each control plane that is ready\n", l.KubernetesEndpoint())
	}

	fmt.Fprintf(w, "DIRECTORY\t%s\n\n", s.Dir)

	fmt.Fprintln(w, "NAME\tROLE\tRUNS AS\tADDRESS\tCPUS\tMEMORY\tDISK\tPOWER\tBOOTS\tWHY\tAPI\tKUBERNETES\tLINK")

	for _, n := range l.Nodes() {
		power, boots, why, link := "off", "-", "-", "-"

		for _, m := range status.Nodes {
			if m.Name == n.Name {
				power, why = string(m.Machine.Power), m.Machine.Why
				boots, link = fmt.Sprint(m.Machine.Boots), cardLinks(m.Cards)
			}
		}

		kubernetes := "-"
		if n.Role == state.ControlPlane {
			kubernetes = n.KubernetesEndpoint()
		}

		disk := humanize.IBytes(uint64(n.DiskGiB) << 30)
		if n.As() == state.Container { // it has folders, not disks
			disk = "-"
		}

		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", n.Name, n.Role, n.As(), n.Addr, n.CPUs,
			humanize.IBytes(uint64(n.MemoryMiB)<<20), disk,
			power, boots, why, n.APIEndpoint(), kubernetes, link)
	}

	for _, path := range status.Paths {
		fmt.Fprintf(w, "\nPATH\t%s -> %s: %s\n", path.From, path.To, path.Impairment)
	}

	return w.Flush()
}

// join46 joins a value for IPv4 and one for IPv6, if they are valid.
func join46[T interface {
	IsValid() bool
	String() string
}](v4, v6 T) string {
	switch {
	case !v6.IsValid():
		return v4.String()
	case !v4.IsValid():
		return v6.String()
	}

	return v4.String() + " " + v6.String()
}
