// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/lab"
)

// newPlugCommand returns plug or unplug.
func newPlugCommand(p *place, name string) *cobra.Command {
	unplug := name == "unplug"
	cmd := &cobra.Command{
		Use:   name + " MACHINE/CARD",
		Short: "Plug a network card into a machine",
		Long: `Plug a network card into a machine while it runs, or before it is switched on. CARD is its number, counted from 0, or the name of
its network. A machine has the cards that it was created with (talosctl cluster create --cards).`,
		Example:           "  talosctl cluster net " + name + " worker-1/1",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completion(p, cardNames),
		RunE: p.run(func(cmd *cobra.Command, l *lab.Lab, args []string) error {
			full := fullName(l, args[0])

			ports, err := l.State().World.Find(l.State().Machines(), full)
			if err != nil {
				return err
			}

			machine, number, ok := strings.Cut(ports[0].Name, "/")

			card, err := strconv.Atoi(number)
			if !ok || err != nil || !strings.Contains(full, "/") || len(ports) > 1 {
				return fmt.Errorf("%s is not a card of a machine: want MACHINE/NUMBER", args[0])
			}

			n, err := l.NodeByName(machine)
			if err != nil {
				return err
			}

			change, done := n.Plug, "plugged in"
			if unplug {
				change, done = n.Unplug, "unplugged"
			}

			if err := change(cmd.Context(), card); err != nil {
				return err
			}

			fmt.Fprintf(cmd.OutOrStdout(), "card %d of %s (%s, %s) %s\n", card, n.Name, n.Cards[card].Network, n.Cards[card].MAC, done)

			return nil
		}),
	}

	if unplug {
		cmd.Short = "Unplug a network card of a machine"
		cmd.Long = `Unplug a network card of a machine. A machine that runs must release it first. CARD is its number, counted from 0, or the name of its
network. The card stays unplugged until it is plugged in again.`
	}

	return cmd
}
