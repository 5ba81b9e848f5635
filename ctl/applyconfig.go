// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/config/patch"
)

// applyModes are the values of --mode.
var applyModes = map[string]machine.ApplyConfigurationRequest_Mode{
	"auto":      machine.ApplyConfigurationRequest_AUTO,
	"no-reboot": machine.ApplyConfigurationRequest_NO_REBOOT,
	"staged":    machine.ApplyConfigurationRequest_STAGED,
	"try":       machine.ApplyConfigurationRequest_TRY,
}

func newApplyConfigCommand() *cobra.Command {
	var (
		connection connection
		file, mode string
		patches    []string
		request    machine.ApplyConfigurationRequest
		timeout    time.Duration
	)

	cmd := &cobra.Command{
		Use:     "apply-config",
		Aliases: []string{"apply"},
		Short:   "Send a machine configuration to the nodes",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error

			if request.Data, err = readConfig(cmd, file); err != nil {
				return err
			}

			changes, err := patch.Load(patches)
			if err != nil {
				return err
			}

			if request.Data, err = patch.Apply(request.Data, changes...); err != nil {
				return err
			}

			var known bool

			if request.Mode, known = applyModes[mode]; !known {
				return usageError(cmd, "--mode %q is unknown: want auto, no-reboot, staged or try", mode)
			}

			if request.Mode == machine.ApplyConfigurationRequest_TRY {
				request.TryModeTimeout = durationpb.New(timeout)
			}

			return connection.each(cmd.Context(), func(ctx context.Context, n node) error {
				answer, err := n.ApplyConfiguration(ctx, &request)
				if err != nil {
					return err
				}

				return printApplied(cmd.ErrOrStderr(), n.name, answer)
			})
		},
	}

	connection.flags(cmd)
	connection.maintenanceFlags(cmd)
	cmd.Flags().StringVarP(&file, "file", "f", "", "the configuration; - for standard input")
	cmd.Flags().StringArrayVarP(&patches, "config-patch", "p", nil, "change the configuration before it is sent: a patch, or @FILE; may be repeated")
	cmd.Flags().StringVarP(&mode, "mode", "m", "auto", "when it takes effect: auto, no-reboot, staged (at the next boot), try (taken back after --timeout)")
	cmd.Flags().BoolVar(&request.DryRun, "dry-run", false, "show what would change, and change nothing")
	cmd.Flags().DurationVar(&timeout, "timeout", time.Minute, "with --mode try: when it is taken back")

	if err := cmd.MarkFlagRequired("file"); err != nil {
		panic(err) // The flag is defined above.
	}

	return cmd
}

func readConfig(cmd *cobra.Command, file string) (content []byte, err error) {
	if file == "-" {
		content, err = io.ReadAll(cmd.InOrStdin())
	} else {
		content, err = os.ReadFile(file)
	}

	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}

	if len(bytes.TrimSpace(content)) == 0 {
		return nil, fmt.Errorf("read configuration: %s is empty; make one with: talosctl gen config", file)
	}

	return content, nil
}

// printApplied prints what the node says, in one piece.
func printApplied(w io.Writer, node string, answer *machine.ApplyConfiguration) error {
	var b bytes.Buffer

	for _, warning := range answer.GetWarnings() {
		fmt.Fprintf(&b, "%s: WARNING: %s\n", node, warning)
	}

	if details := answer.GetModeDetails(); details != "" {
		fmt.Fprintf(&b, "%s\n", details)
	}

	_, err := b.WriteTo(w)

	return err
}
