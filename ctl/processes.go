// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
)

// watchInterval is how often a watched table is made anew.
const watchInterval = 2 * time.Second

func newProcessesCommand(s *connection) *cobra.Command {
	var (
		order string
		watch bool
	)

	cmd := &cobra.Command{
		Use:     "processes",
		Aliases: []string{"p", "ps"},
		Short:   "List processes",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			less, known := processOrders[order]
			if !known {
				return usageError(cmd, "--sort %q is unknown: want rss or cpu", order)
			}

			show := func() error {
				return list(cmd, s, processColumns, func(n node, ctx context.Context) ([]*machine.ProcessInfo, error) {
					processes, err := n.Processes(ctx)
					slices.SortStableFunc(processes, less)

					return processes, err
				})
			}

			for {
				err := show()

				// A node that fails ends no watch of the others.
				if failed := (*nodeFailure)(nil); !watch || err != nil && !errors.As(err, &failed) {
					return err
				}

				if err != nil && cmd.Context().Err() == nil {
					printError(cmd.ErrOrStderr(), err)
				}

				if sleep(cmd.Context(), watchInterval); cmd.Context().Err() != nil {
					return cmd.Context().Err()
				}

				clearTerminal(cmd.OutOrStdout())
			}
		},
	}

	s.flags(cmd)
	s.outputFlag(cmd)
	cmd.Flags().StringVarP(&order, "sort", "s", "rss", "largest first, by rss or cpu")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "show it again every two seconds")
	complete(cmd, "sort", "rss", "cpu")

	return cmd
}

var processOrders = map[string]func(a, b *machine.ProcessInfo) int{
	"rss": func(a, b *machine.ProcessInfo) int { return cmp.Compare(b.GetResidentMemory(), a.GetResidentMemory()) },
	"cpu": func(a, b *machine.ProcessInfo) int { return cmp.Compare(b.GetCpuTime(), a.GetCpuTime()) },
}

var processColumns = []column[*machine.ProcessInfo]{
	{"PID", func(p *machine.ProcessInfo) string { return strconv.Itoa(int(p.GetPid())) }},
	{"STATE", (*machine.ProcessInfo).GetState},
	{"THREADS", func(p *machine.ProcessInfo) string { return strconv.Itoa(int(p.GetThreads())) }},
	{"CPU-TIME", func(p *machine.ProcessInfo) string { return strconv.FormatFloat(p.GetCpuTime(), 'f', 2, 64) }},
	{"VIRTMEM", func(p *machine.ProcessInfo) string { return humanize.Bytes(p.GetVirtualMemory()) }},
	{"RESMEM", func(p *machine.ProcessInfo) string { return humanize.Bytes(p.GetResidentMemory()) }},
	{"LABEL", (*machine.ProcessInfo).GetLabel},
	{"COMMAND", processCommand},
}

// processCommand is the command line; where its first word is a name only, as the executable has it in full.
func processCommand(p *machine.ProcessInfo) string {
	switch {
	case p.GetExecutable() == "":
		return p.GetCommand()
	case p.GetArgs() == "":
		return p.GetExecutable()
	}

	first, rest := firstWord(p.GetArgs())
	if first != "" && filepath.Base(p.GetExecutable()) == filepath.Base(first) {
		return p.GetExecutable() + rest
	}

	return p.GetArgs()
}
