// SPDX-License-Identifier: Apache-2.0

package configure

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/ctl/session"
)

// applyModes are the values of --mode.
var applyModes = map[string]machine.ApplyConfigurationRequest_Mode{
	"auto":      machine.ApplyConfigurationRequest_AUTO,
	"no-reboot": machine.ApplyConfigurationRequest_NO_REBOOT,
	"staged":    machine.ApplyConfigurationRequest_STAGED,
	"try":       machine.ApplyConfigurationRequest_TRY,
}

// applying holds the flags of the commands that send a configuration.
type applying struct {
	mode    string
	dryRun  bool
	timeout time.Duration
	as      machine.ApplyConfigurationRequest_Mode
}

func (a *applying) flags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&a.mode, "mode", "m", "auto", "when it takes effect: auto, no-reboot, staged (at the next boot), try (taken back after --timeout)")
	cmd.Flags().BoolVar(&a.dryRun, "dry-run", false, "show what would change, and change nothing")
	cmd.Flags().DurationVar(&a.timeout, "timeout", time.Minute, "with --mode try: when it is taken back")
	session.Complete(cmd, "mode", "auto", "no-reboot", "staged", "try")
}

func (a *applying) check(cmd *cobra.Command) error {
	var known bool

	if a.as, known = applyModes[a.mode]; !known {
		return session.UsageError(cmd, "--mode %q is unknown: want auto, no-reboot, staged or try", a.mode)
	}

	return nil
}

// send sends the configuration to the node and prints what the node says.
func (a *applying) send(ctx context.Context, n session.Node, w io.Writer, config []byte) error {
	request := &machine.ApplyConfigurationRequest{Data: config, Mode: a.as, DryRun: a.dryRun}
	if a.as == machine.ApplyConfigurationRequest_TRY {
		request.TryModeTimeout = durationpb.New(a.timeout)
	}

	answer, err := n.ApplyConfiguration(ctx, request)
	if err != nil {
		return err
	}

	return printApplied(w, n.Name, answer)
}
