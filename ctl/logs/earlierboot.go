// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/session"
)

// earlierBoot is the flag of commands that can print the logs of an earlier boot.
type earlierBoot struct {
	number int
}

func (b *earlierBoot) flag(cmd *cobra.Command) {
	cmd.Flags().IntVar(&b.number, "boot", 0, "print the log of an earlier boot: -1 for the one before this, and so on; talosctl get boots lists them")
}

// print prints a stream of each node, line by line.
func (b *earlierBoot) print(s *session.Session, cmd *cobra.Command, open func(ctx context.Context, n session.Node) io.ReadCloser) error {
	if b.number > 0 {
		return session.UsageError(cmd, "--boot %d has not been yet: want -1 for the boot before this one, and so on", b.number)
	}

	out := session.NewLines(cmd.OutOrStdout())

	return s.Each(cmd, func(ctx context.Context, n session.Node) error {
		stream := open(b.of(ctx), n)
		defer stream.Close()

		return out.Copy(n.Name, stream)
	})
}

func (b *earlierBoot) of(ctx context.Context) context.Context { return client.WithBoot(ctx, b.number) }
