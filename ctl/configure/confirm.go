// SPDX-License-Identifier: Apache-2.0

package configure

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/trial"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newConfirmCommand(s *session.Session) *cobra.Command {
	var request trial.ConfirmRequest

	cmd := s.Flags(&cobra.Command{
		Use:   "confirm [TRIAL]",
		Short: "Keep the change that is on trial",
		Long: `Keep the change that is on trial on the nodes, such as a configuration that was applied with --mode try.

Without this command, the machine goes back to what it was before. talosctl get trials shows what is on trial, until when, and what became of
earlier trials. Name a trial to be sure that the change is the one you mean.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				request.Id = args[0]
			}

			return s.Each(cmd, func(ctx context.Context, n session.Node) error {
				answer, err := n.Confirm(ctx, &request)
				if err != nil {
					return err
				}

				_, err = fmt.Fprintf(cmd.ErrOrStderr(), "%s: trial %s is %s: %s\n", n.Name, answer.GetId(), answer.GetState(), answer.GetDetails())

				return err
			})
		},
	})

	cmd.Flags().BoolVar(&request.Revert, "revert", false, "go back to what was before the trial, at once; a trial that begins with the next boot does not begin")

	return cmd
}
