// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
	"github.com/seed-59268b81/talos/lab"
)

func newCaptureCommand(p *place) *cobra.Command {
	var (
		output   string
		duration time.Duration
	)

	cmd := &cobra.Command{
		Use:   "capture [NAME...]",
		Short: "Capture packets, for Wireshark",
		Long: `Capture the packets of machines, routers or networks, as they see them: sent packets before the faults of the link, received packets
after them. Without a name, each packet of the cluster is captured once. The file is in the format pcapng, with an interface for each
port; Wireshark and tcpdump read it. An interrupt (Ctrl-C) ends the capture.`,
		Example: `  talosctl cluster net capture worker-1 -o worker.pcapng
  talosctl cluster net capture site-1-router -o - | wireshark -k -i -
  talosctl cluster net capture --for 30s -o all.pcapng`,
		ValidArgsFunction: completeNames(p),
		RunE: p.run(func(cmd *cobra.Command, l *lab.Lab, args []string) error {
			names := make([]string, len(args))
			for i, arg := range args {
				names[i] = fullName(l, arg)

				if _, err := l.State().World.Find(l.State().Machines(), names[i]); err != nil {
					return err
				}
			}

			// An existing file is kept if the cluster does not run.
			if _, err := l.Status(cmd.Context()); err != nil {
				return err
			}

			ctx := cmd.Context() // ends with an interrupt

			if duration > 0 {
				var cancel context.CancelFunc

				ctx, cancel = context.WithTimeout(ctx, duration)
				defer cancel()
			}

			return captureTo(ctx, cmd, l, output, names)
		}),
	}

	cmd.Flags().StringVarP(&output, "output", "o", "", "file to write, or - for the standard output")
	cmd.Flags().DurationVar(&duration, "for", 0, "end the capture after this time")

	return session.Require(cmd, "output")
}

func captureTo(ctx context.Context, cmd *cobra.Command, l *lab.Lab, output string, names []string) (err error) {
	if output == "-" {
		return l.Capture(ctx, cmd.OutOrStdout(), names...)
	}

	file, err := os.Create(output)
	if err != nil {
		return fmt.Errorf("capture: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()

	counted := &counter{Writer: file}
	if err := l.Capture(ctx, counted, names...); err != nil {
		return err
	}

	fmt.Fprintf(cmd.OutOrStdout(), "%s of packets in %s\n", humanize.IBytes(counted.bytes), output)

	return nil
}

// counter counts what is written.
type counter struct {
	io.Writer
	bytes uint64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.bytes += uint64(n)

	return n, err
}
