// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/control"
)

// done is what the command prints after an action.
var done = map[control.Action]string{
	control.On: "switched on", control.Off: "powered off", control.Cut: "power cut", control.Reset: "reset",
	control.Pause: "paused", control.Resume: "runs on", control.Wipe: "wiped: its disks are as new",
}

func newPowerCommand(p *place) *cobra.Command {
	var actions []string
	for _, a := range control.Actions() {
		actions = append(actions, string(a))
	}

	return &cobra.Command{
		Use:   "power ACTION MACHINE...",
		Short: "Switch machines on or off, cut their power, pause or wipe them",
		Long: `Do one of these to machines:

  on      switch on
  off     ask the guest to power off, and wait until it has
  cut     cut the power: what the guest had not flushed to its disk is lost
  reset   press the reset button
  pause   stop all processors; the clock goes on
  resume  end a pause
  wipe    replace the disks of a machine that is off with new ones`,
		Example: `  talosctl cluster power pause controlplane-2
  talosctl cluster power cut worker-1 && talosctl cluster power wipe worker-1 && talosctl cluster power on worker-1`,
		Args:      cobra.MinimumNArgs(2),
		ValidArgs: actions,
		RunE: p.run(func(cmd *cobra.Command, l *lab.Lab, args []string) error {
			action := control.Action(args[0])
			if done[action] == "" {
				return fmt.Errorf("unknown action %q: want %s", args[0], strings.Join(actions, ", "))
			}

			var nodes []*lab.Node

			for _, name := range args[1:] {
				n, err := l.NodeByName(fullName(l, name))
				if err != nil {
					return err
				}

				nodes = append(nodes, n)
			}

			for _, n := range nodes {
				if err := n.Do(cmd.Context(), action); err != nil {
					return err
				}

				fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", n.Name, done[action])
			}

			return nil
		}),
	}
}
