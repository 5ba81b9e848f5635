// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/nat"
	"github.com/seed-59268b81/talos/lab/world"
)

func newNATCommand(p *place) *cobra.Command {
	var (
		config nat.Config
		none   bool
	)

	cmd := &cobra.Command{
		Use:   "nat ROUTER [KIND]",
		Short: "Change the NAT of a router",
		Long: `Change the NAT of a router, or of one of its legs (ROUTER/NETWORK); the name of a site means its router. Connections through the
old NAT are lost.

KIND is full-cone, restricted, port-restricted or symmetric (RFC 3489); --mapping and --filtering choose each behavior of RFC 4787
by itself: endpoint-independent, address-dependent or address-and-port-dependent.`,
		Example: `  talosctl cluster net nat site-1 symmetric
  talosctl cluster net nat site-1 --mapping address-dependent --filtering endpoint-independent --hairpin external
  talosctl cluster net nat site-1 full-cone --udp-timeout 30s
  talosctl cluster net nat site-1/internet --none`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: completion(p, routerNames, func(*lab.Lab) []string { return kinds() }),
		RunE: func(cmd *cobra.Command, args []string) error {
			behavior := []string{"mapping", "filtering", "hairpin", "allocation", "udp-timeout"}
			if none && (len(args) == 2 || slices.ContainsFunc(behavior, cmd.Flags().Changed)) {
				return errors.New("--none: a router without NAT has no kind or behavior")
			}

			if len(args) == 2 {
				mapping, filtering, ok := nat.Kind(args[1]).Behaviors()
				if !ok {
					return fmt.Errorf("kind %q: want %s", args[1], strings.Join(kinds(), ", "))
				}

				config.Mapping, config.Filtering = cmp.Or(config.Mapping, mapping), cmp.Or(config.Filtering, filtering)
			}

			l, err := p.open()
			if err != nil {
				return err
			}

			router := routerName(l, args[0])

			if err := l.EditRouter(cmd.Context(), router, func(s *world.Setting) {
				if s.NAT = &config; none {
					s.NAT = nil
				}
			}); err != nil {
				return err
			}

			if none {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: no NAT\n", router)
			} else {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: NAT %s\n", router, describeNAT(&config))
			}

			return nil
		},
	}

	cmd.Flags().StringVar((*string)(&config.Mapping), "mapping", "", "behavior of the mapping (default endpoint-independent)")
	cmd.Flags().StringVar((*string)(&config.Filtering), "filtering", "", "behavior of the filter (default address-and-port-dependent)")
	cmd.Flags().StringVar((*string)(&config.Hairpin), "hairpin", "", "let machines behind the NAT reach each other by its address, with an external or internal source")
	cmd.Flags().StringVar((*string)(&config.Allocation), "allocation", "", "allocation of ports: preserve, sequential or random (default preserve)")
	cmd.Flags().DurationVar(&config.UDPTimeout, "udp-timeout", 0, "how long an idle UDP mapping lasts (default 5m)")
	cmd.Flags().BoolVar(&none, "none", false, "route without NAT")
	session.Complete(cmd, "mapping", texts(nat.Behaviors)...)
	session.Complete(cmd, "filtering", texts(nat.Behaviors)...)

	return cmd
}

func kinds() []string { return texts(nat.Kinds) }

func texts[T ~string](values []T) []string {
	return session.Names(values, func(v T) string { return string(v) })
}

// describeNAT returns the kind of a NAT, or its behaviors if they have no name, and what else is not the default.
func describeNAT(c *nat.Config) string {
	if c == nil {
		return "none"
	}

	mapping, filtering := cmp.Or(c.Mapping, nat.EndpointIndependent), cmp.Or(c.Filtering, nat.AddressAndPortDependent)
	text := fmt.Sprintf("mapping %s, filtering %s", mapping, filtering)

	for _, kind := range nat.Kinds {
		if m, f, _ := kind.Behaviors(); m == mapping && f == filtering {
			text = string(kind)
		}
	}

	if c.Hairpin != nat.HairpinOff {
		text += fmt.Sprintf(", hairpin %s", c.Hairpin)
	}

	if c.Allocation != "" {
		text += fmt.Sprintf(", ports %s", c.Allocation)
	}

	if c.UDPTimeout != 0 {
		text += fmt.Sprintf(", UDP timeout %v", c.UDPTimeout)
	}

	return text
}
