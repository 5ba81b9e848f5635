// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/ctl/session"
)

// Command returns talosctl pcap.
func Command(s *session.Session) *cobra.Command {
	var (
		request      machine.PacketCaptureRequest
		filter, path string
		duration     time.Duration
	)

	cmd := s.Flags(&cobra.Command{
		Use:     "pcap",
		Aliases: []string{"tcpdump"},
		Short:   "Capture the packets of a link of one node",
		Long: `Capture the packets of a link of one node: print them, or write them to a file in pcap format.

A filter is given as tcpdump -dd prints it: --bpf-filter "$(tcpdump -dd port 53)".`,
		Example: "  talosctl pcap -n 172.20.0.2 -i eth0 -o - | wireshark -k -i -",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error

			if request.BpfFilter, err = ParseFilter(filter); err != nil {
				return err
			}

			return s.One(cmd, func(ctx context.Context, n session.Node) error {
				ctx, cancel := context.WithCancelCause(ctx)
				defer cancel(nil)

				stream := n.PacketCapture(ctx, &request)
				defer stream.Close()

				begun := func() {}

				if duration > 0 {
					// A deadline of ctx would be sent to the node, which might then end the call first.
					begun = func() { time.AfterFunc(duration, func() { cancel(errTimeOver) }) }
				}

				err := writeCapture(cmd.OutOrStdout(), path, endsWith(ctx, stream, sync.OnceFunc(begun)))
				if errors.Is(err, io.ErrUnexpectedEOF) && timeIsOver(ctx) {
					return nil // the capture ended in the middle of a packet
				}

				return err
			})
		},
	})

	cmd.Flags().StringVarP(&request.Interface, "interface", "i", "eth0", "link to capture on")
	cmd.Flags().BoolVar(&request.Promiscuous, "promiscuous", false, "also capture packets that are not for the node")
	cmd.Flags().Uint32Var(&request.SnapLen, "snaplen", 65536, "bytes of each packet to capture")
	cmd.Flags().StringVar(&filter, "bpf-filter", "", "filter of the packets, as tcpdump -dd prints it")
	cmd.Flags().DurationVar(&duration, "duration", 0, "how long to capture; until interrupted if 0")
	cmd.Flags().StringVarP(&path, "output", "o", "", "write a pcap file, - for standard output, instead of printing packets")
	session.CompleteBy(cmd, "interface", s.CompleteArg(0, linkNames))

	return cmd
}

func writeCapture(out io.Writer, path string, stream io.Reader) error {
	switch path {
	case "":
		return Print(out, stream)
	case "-":
		_, err := io.Copy(out, stream)

		return err
	}

	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}

	_, err = io.Copy(file, stream)

	return errors.Join(err, file.Close())
}

var errTimeOver = errors.New("capture timed out")

func timeIsOver(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errTimeOver) }

// endsWith returns a reader that ends with io.EOF when the time is over, and that calls begun after each read.
func endsWith(ctx context.Context, r io.Reader, begun func()) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		n, err := r.Read(p)

		switch {
		case err == nil:
			begun()
		case timeIsOver(ctx):
			err = io.EOF
		}

		return n, err
	})
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// linkNames returns the names of the node's links.
func linkNames(n session.Node, ctx context.Context) ([]string, error) {
	statistics, err := n.NetworkDeviceStats(ctx)

	return session.Names(statistics.GetDevices(), func(d *machine.NetDev) string { return strings.TrimSpace(d.GetName()) }), err
}
