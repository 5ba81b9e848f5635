// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/lab"
)

func newPartitionCommand(p *place) *cobra.Command {
	var duration time.Duration

	cmd := &cobra.Command{
		Use:   "partition GROUP GROUP...",
		Short: "Split machines into groups that do not reach each other",
		Long: `Split machines into groups, each a comma-separated list of names. Machines of different groups do not reach each other. The gateway
still reaches all machines, so that their APIs can be called from here. To split sites, name their routers.`,
		Example: `  talosctl cluster net partition controlplane-1,worker-1 worker-2
  talosctl cluster net partition controlplane-1 controlplane-2,controlplane-3 --for 1m
  talosctl cluster net partition site-1-router site-2-router`,
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: completeNames(p),
		RunE: p.run(func(cmd *cobra.Command, l *lab.Lab, args []string) error {
			groups, err := groupsOf(l, args)
			if err != nil {
				return err
			}

			if err := l.Partition(cmd.Context(), groups...); err != nil {
				return err
			}

			for i, group := range groups {
				fmt.Fprintf(cmd.OutOrStdout(), "group %d: %s\n", i+1, strings.Join(group, ", "))
			}

			noteRouted(cmd.OutOrStdout(), l, groups)

			if duration == 0 {
				return nil
			}

			return lasting(cmd, duration, func(ctx context.Context) error { return l.Join(ctx, groups...) })
		}),
	}

	cmd.Flags().DurationVar(&duration, "for", 0, "wait this long, then join the groups again")

	return cmd
}

// noteRouted prints the machines of different groups that still reach each other through routers.
func noteRouted(w io.Writer, l *lab.Lab, groups [][]string) {
	s := l.State()

	for i, group := range groups {
		for _, other := range slices.Concat(groups[i+1:]...) {
			for _, name := range group {
				_, router := s.World.Router(name)
				if _, too := s.World.Router(other); !router && !too && s.World.Routed(s.Machines(), name, other) {
					fmt.Fprintf(w, "note: %s and %s also reach each other through routers; split or cut these too\n", name, other)
				}
			}
		}
	}
}

// groupsOf parses lists of names. A name must not be in two groups.
func groupsOf(l *lab.Lab, args []string) ([][]string, error) {
	seen := map[string]bool{}

	var groups [][]string

	for _, arg := range args {
		var group []string

		for name := range strings.SplitSeq(arg, ",") {
			full := fullName(l, name)

			if _, err := l.State().World.Find(l.State().Machines(), full); err != nil {
				return nil, err
			}

			if seen[full] {
				return nil, fmt.Errorf("%s is in two groups", full)
			}

			seen[full] = true
			group = append(group, full)
		}

		groups = append(groups, group)
	}

	return groups, nil
}
