// SPDX-License-Identifier: Apache-2.0

package filesystem

import (
	"context"
	"iter"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newUsageCommand(s *session.Session) *cobra.Command {
	var (
		request machine.DiskUsageRequest
		human   bool
	)

	cmd := s.OutputFlag(s.Flags(&cobra.Command{
		Use:     "usage [PATH...]",
		Aliases: []string{"du"},
		Short:   "Show the space that files use",
		RunE: func(cmd *cobra.Command, args []string) error {
			request.Paths = args
			if len(args) == 0 {
				request.Paths = []string{"/"}
			}

			name := "SIZE(B)"
			if human {
				name = "SIZE"
			}

			columns := []session.Column[*machine.DiskUsageInfo]{
				session.Col(name, func(i *machine.DiskUsageInfo) string { return session.Size(i.GetSize(), human) }),
				session.Col("NAME", (*machine.DiskUsageInfo).GetRelativeName),
			}
			widths := []int{len("255.255.255.255"), len("1234567890")}

			// The sizes of large directories take long: each is printed at once.
			return printFiles(s, cmd, columns, 1, widths, func(ctx context.Context, n session.Node) iter.Seq2[*machine.DiskUsageInfo, error] {
				return n.DiskUsage(ctx, &request)
			})
		},
		ValidArgsFunction: completePath(s),
	}))

	cmd.Flags().BoolVarP(&request.All, "all", "a", false, "also show files")
	cmd.Flags().Int32VarP(&request.RecursionDepth, "depth", "d", 0, "show directories this many levels deep")
	cmd.Flags().BoolVarP(&human, "humanize", "H", false, "sizes for people")
	cmd.Flags().Int64VarP(&request.Threshold, "threshold", "t", 0, "leave out files smaller than this many bytes, or larger if negative")

	return cmd
}
