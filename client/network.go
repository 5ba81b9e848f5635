// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"io"

	"github.com/seed-59268b81/talos/api/machine"
)

// Netstat lists sockets.
func (c *Client) Netstat(ctx context.Context, request *machine.NetstatRequest) ([]*machine.ConnectRecord, error) {
	r, err := c.Machine.Netstat(ctx, request)
	m, err := unwrap("list sockets", r, err)

	return m.GetConnectrecord(), err
}

// PacketCapture streams the packets of a link as a pcap file, until the context ends.
func (c *Client) PacketCapture(ctx context.Context, request *machine.PacketCaptureRequest) io.ReadCloser {
	return newDataReader(ctx, "packet capture on "+request.GetInterface(), func(ctx context.Context) (dataStream, error) {
		return c.Machine.PacketCapture(ctx, request)
	})
}
