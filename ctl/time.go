// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"context"

	"github.com/spf13/cobra"

	timeapi "github.com/seed-59268b81/talos/api/time"
)

func newTimeCommand() *cobra.Command {
	var (
		connection connection
		output     output
		server     string
	)

	cmd := &cobra.Command{
		Use:   "time [--check SERVER]",
		Short: "Compare the nodes' clocks with a time server",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return list(cmd, &connection, &output, timeColumns, single(func(n node, ctx context.Context) (*timeapi.Time, error) {
				return n.Time(ctx, server)
			}))
		},
	}

	connection.flags(cmd)
	output.flag(cmd)
	cmd.Flags().StringVarP(&server, "check", "c", "", "time server to compare with, instead of the configured ones")

	return cmd
}

var timeColumns = []column[*timeapi.Time]{
	{"NTP-SERVER", (*timeapi.Time).GetServer},
	{"NODE-TIME", func(t *timeapi.Time) string { return t.GetLocaltime().AsTime().String() }},
	{"NTP-SERVER-TIME", func(t *timeapi.Time) string { return t.GetRemotetime().AsTime().String() }},
	{"OFFSET", func(t *timeapi.Time) string {
		return t.GetLocaltime().AsTime().Sub(t.GetRemotetime().AsTime()).String()
	}},
}
