// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/ctl/session"
)

// watchInterval is how often a watched table is printed again.
const watchInterval = 2 * time.Second

func newProcessesCommand(s *session.Session) *cobra.Command {
	var (
		order func(a, b *machine.ProcessInfo) int
		watch bool
	)

	cmd := s.OutputFlag(s.Flags(&cobra.Command{
		Use:     "processes",
		Aliases: []string{"p", "ps"},
		Short:   "List processes",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for {
				err := session.List(s, cmd, processColumns, func(n session.Node, ctx context.Context) ([]*machine.ProcessInfo, error) {
					processes, err := n.Processes(ctx)
					slices.SortStableFunc(processes, order)

					return processes, err
				})

				// A node that fails does not end the watch of the others.
				if failed := (*session.NodeFailure)(nil); !watch || err != nil && !errors.As(err, &failed) {
					return err
				}

				if err != nil && cmd.Context().Err() == nil {
					session.PrintError(cmd.ErrOrStderr(), err)
				}

				select {
				case <-cmd.Context().Done():
					return cmd.Context().Err()
				case <-time.After(watchInterval):
				}

				clearTerminal(cmd.OutOrStdout())
			}
		},
	}))

	session.EnumFlag(cmd, &order, "sort", "s", "rss", "largest first, by rss or cpu", processOrders)
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "print the list again every two seconds")

	return cmd
}

var processOrders = []session.Named[func(a, b *machine.ProcessInfo) int]{
	{Name: "rss", Value: func(a, b *machine.ProcessInfo) int { return cmp.Compare(b.GetResidentMemory(), a.GetResidentMemory()) }},
	{Name: "cpu", Value: func(a, b *machine.ProcessInfo) int { return cmp.Compare(b.GetCpuTime(), a.GetCpuTime()) }},
}

var processColumns = []session.Column[*machine.ProcessInfo]{
	session.Col("PID", func(p *machine.ProcessInfo) string { return strconv.Itoa(int(p.GetPid())) }),
	session.Col("STATE", (*machine.ProcessInfo).GetState),
	session.Col("THREADS", func(p *machine.ProcessInfo) string { return strconv.Itoa(int(p.GetThreads())) }),
	session.Col("CPU-TIME", func(p *machine.ProcessInfo) string { return strconv.FormatFloat(p.GetCpuTime(), 'f', 2, 64) }),
	session.Col("VIRTMEM", func(p *machine.ProcessInfo) string { return humanize.Bytes(p.GetVirtualMemory()) }),
	session.Col("RESMEM", func(p *machine.ProcessInfo) string { return humanize.Bytes(p.GetResidentMemory()) }),
	session.Col("LABEL", (*machine.ProcessInfo).GetLabel),
	session.Col("COMMAND", processCommand),
}

// processCommand returns the command line, with the full path of the executable if the command line has only its name.
func processCommand(p *machine.ProcessInfo) string {
	switch {
	case p.GetExecutable() == "":
		return p.GetCommand()
	case p.GetArgs() == "":
		return p.GetExecutable()
	}

	first, _, _ := strings.Cut(p.GetArgs(), " ")
	if first != "" && filepath.Base(p.GetExecutable()) == filepath.Base(first) {
		return p.GetExecutable() + p.GetArgs()[len(first):]
	}

	return p.GetArgs()
}

// clearTerminal clears the terminal before a table is printed again. In a file the tables follow each other.
func clearTerminal(w io.Writer) {
	if session.IsTerminal(w) {
		io.WriteString(w, "\x1b[H\x1b[2J") // the next write fails too
	}
}
