// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/world"
)

func newBlockUDPCommand(p *place) *cobra.Command {
	var off bool

	cmd := &cobra.Command{
		Use:   "block-udp ROUTER",
		Short: "Let no UDP through a router",
		Long: `Let no UDP through a router's outer leg, or another one of its legs (ROUTER/NETWORK); the name of a site means its router. DHCP, DNS
and NTP inside the networks still work.`,
		Example: `  talosctl cluster net block-udp site-1
  talosctl cluster net block-udp site-1 --off`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completion(p, routerNames),
		RunE: p.run(func(cmd *cobra.Command, l *lab.Lab, args []string) error {
			router := routerName(l, args[0])
			if err := l.EditRouter(cmd.Context(), router, func(s *world.Setting) { s.BlockUDP = !off }); err != nil {
				return err
			}

			fmt.Fprintf(cmd.OutOrStdout(), "%s: UDP %s\n", router, map[bool]string{true: "passes", false: "is blocked"}[off])

			return nil
		}),
	}

	cmd.Flags().BoolVar(&off, "off", false, "let UDP through again")

	return cmd
}
