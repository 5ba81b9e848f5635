// SPDX-License-Identifier: Apache-2.0

package configure

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/session"
)

// applyModes are the values of --mode.
var applyModes = []session.Named[machine.ApplyConfigurationRequest_Mode]{
	{Name: "auto", Value: machine.ApplyConfigurationRequest_AUTO},
	{Name: "no-reboot", Value: machine.ApplyConfigurationRequest_NO_REBOOT},
	{Name: "staged", Value: machine.ApplyConfigurationRequest_STAGED},
	{Name: "try", Value: machine.ApplyConfigurationRequest_TRY},
}

// applying holds the flags of the commands that send a configuration.
type applying struct {
	mode    machine.ApplyConfigurationRequest_Mode
	dryRun  bool
	timeout time.Duration
	healthy bool
	forGood bool
	cmd     *cobra.Command
}

func (a *applying) flags(cmd *cobra.Command) {
	session.EnumFlag(cmd, &a.mode, "mode", "m", "auto", "when it takes effect: auto, no-reboot, staged (at the next boot), try (reverted after --timeout, unless you run talosctl confirm)", applyModes)
	cmd.Flags().BoolVar(&a.dryRun, "dry-run", false, "show what would change, without changing it")
	cmd.Flags().DurationVar(&a.timeout, "timeout", time.Minute, "with --mode try: when the configuration is reverted, unless it is confirmed; with other modes: when the node goes back if it is not as healthy as before (default there 2m30s)")
	cmd.Flags().BoolVar(&a.forGood, "for-good", false, "with --mode auto, no-reboot and staged: keep the configuration at once, even if the node is not healthy with it")
	cmd.Flags().BoolVar(&a.healthy, "keep-if-healthy", false, "with --mode try: keep the configuration when the node was healthy with it for 30s, without talosctl confirm (default --timeout 2m30s)")
	a.cmd = cmd
}

// send sends the configuration to the node and prints the answer. The node refuses it if its own is not the one any more that the change
// started from.
func (a *applying) send(ctx context.Context, n session.Node, w io.Writer, config []byte, from start) error {
	if from.id != "" {
		ctx = client.From(ctx, from.id, []byte(from.text))
	}

	if a.healthy && a.mode != machine.ApplyConfigurationRequest_TRY {
		return session.UsageError(a.cmd, "--keep-if-healthy goes with --mode try only")
	}

	byItself := a.mode != machine.ApplyConfigurationRequest_TRY && a.mode != machine.ApplyConfigurationRequest_REBOOT
	chosen := a.cmd.Flags().Changed("timeout")

	if a.forGood && (!byItself || chosen) {
		return session.UsageError(a.cmd, "--for-good goes with --mode auto, no-reboot and staged only, and without --timeout")
	}

	request := &machine.ApplyConfigurationRequest{Data: config, Mode: a.mode, DryRun: a.dryRun}

	switch {
	case a.forGood:
		ctx = client.CommitNow(ctx)
	case byItself && chosen:
		ctx = client.CommitHealthy(ctx)
		request.TryModeTimeout = durationpb.New(a.timeout)
	case a.mode == machine.ApplyConfigurationRequest_TRY:
		request.TryModeTimeout = durationpb.New(a.timeout)

		if a.healthy {
			ctx = client.CommitHealthy(ctx)

			if !chosen {
				request.TryModeTimeout = nil // the node knows how long it needs
			}
		}
	}

	answer, err := n.ApplyConfiguration(ctx, request)
	if err != nil {
		return err
	}

	return printApplied(w, n.Name, answer)
}
