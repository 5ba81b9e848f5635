// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"context"

	"github.com/spf13/cobra"

	timeapi "github.com/seed-59268b81/talos/api/time"
)

func newTimeCommand(s *connection) *cobra.Command {
	var server string

	cmd := &cobra.Command{
		Use:   "time [--check SERVER]",
		Short: "Compare the nodes' clocks with a time server",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return list(cmd, s, timeColumns, single(func(n node, ctx context.Context) (*timeapi.Time, error) {
				return n.Time(ctx, server)
			}))
		},
	}

	s.flags(cmd)
	s.outputFlag(cmd)
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
