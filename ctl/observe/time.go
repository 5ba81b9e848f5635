// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"

	"github.com/spf13/cobra"

	timeapi "github.com/seed-59268b81/talos/api/time"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newTimeCommand(s *session.Session) *cobra.Command {
	var server string

	cmd := session.ListCommand(s, &cobra.Command{
		Use:   "time [--check SERVER]",
		Short: "Compare the nodes' clocks with a time server",
	}, timeColumns, session.Single(func(n session.Node, ctx context.Context) (*timeapi.Time, error) {
		return n.Time(ctx, server)
	}))

	cmd.Flags().StringVarP(&server, "check", "c", "", "time server to compare with, instead of the configured ones")

	return cmd
}

var timeColumns = []session.Column[*timeapi.Time]{
	session.Col("NTP-SERVER", (*timeapi.Time).GetServer),
	session.Col("NODE-TIME", func(t *timeapi.Time) string { return t.GetLocaltime().AsTime().String() }),
	session.Col("NTP-SERVER-TIME", func(t *timeapi.Time) string { return t.GetRemotetime().AsTime().String() }),
	session.Col("OFFSET", func(t *timeapi.Time) string {
		return t.GetLocaltime().AsTime().Sub(t.GetRemotetime().AsTime()).String()
	}),
}
