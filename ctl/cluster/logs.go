// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/lab"
)

func newLogsCommand(p *place) *cobra.Command {
	var (
		follow, own bool
		lines, boot int
	)

	cmd := &cobra.Command{
		Use:   "logs [MACHINE]",
		Short: "Show what a machine wrote to its serial console",
		Long: `Show what a machine (by default the first one) wrote to its serial console, each line with the seconds since power-on or
reset.`,
		Args: cobra.MaximumNArgs(1),
		RunE: p.run(func(cmd *cobra.Command, l *lab.Lab, args []string) error {
			path := l.State().LogPath()

			if !own {
				n := l.Node(0)
				if len(args) == 1 {
					var err error
					if n, err = l.NodeByName(args[0]); err != nil {
						return err
					}
				}

				consoles := n.Consoles()
				if boot < 0 || boot >= len(consoles) {
					return fmt.Errorf("--boot %d: the consoles of %d boots are kept, 0 is the latest", boot, len(consoles))
				}

				path = consoles[boot]
			}

			return printLog(cmd.Context(), cmd.OutOrStdout(), path, lines, follow)
		}),
	}

	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "follow new lines")
	cmd.Flags().IntVar(&lines, "tail", -1, "print only this many last lines")
	cmd.Flags().IntVar(&boot, "boot", 0, "how many boots ago")
	cmd.Flags().BoolVar(&own, "lab", false, "print the log of the lab instead: power, leases, faults")

	return cmd
}

func printLog(ctx context.Context, out io.Writer, path string, lines int, follow bool) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}

	shown := strings.SplitAfter(string(text), "\n")
	if lines >= 0 {
		shown = shown[max(0, len(shown)-1-lines):]
	}

	if _, err := io.WriteString(out, strings.Join(shown, "")); err != nil || !follow {
		return err
	}

	return followLog(ctx, out, path, int64(len(text)))
}

// followLog prints what is added to a log. It begins again when another boot begins another log.
func followLog(ctx context.Context, out io.Writer, path string, at int64) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	defer func() { _ = file.Close() }()

	for {
		n, err := io.Copy(out, io.NewSectionReader(file, at, 1<<62-at))
		if err != nil {
			return fmt.Errorf("follow the log: %w", err)
		}

		at += n

		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}

		now, err := os.Stat(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil // the cluster was destroyed
		}

		if open, statErr := file.Stat(); err == nil && statErr == nil && n == 0 && !os.SameFile(now, open) {
			_ = file.Close()

			if file, err = os.Open(path); err != nil {
				return fmt.Errorf("follow the log: %w", err)
			}

			at = 0
		}
	}
}
