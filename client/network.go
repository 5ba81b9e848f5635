// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"io"

	"github.com/seed-59268b81/talos/api/machine"
)

// Netstat lists sockets.
func (c *Client) Netstat(ctx context.Context, request *machine.NetstatRequest) ([]*machine.ConnectRecord, error) {
	return field(ctx, "list sockets", c.Machine.Netstat, request, (*machine.Netstat).GetConnectrecord)
}

// PacketCapture streams the packets of a link as a pcap file, until the context ends.
func (c *Client) PacketCapture(ctx context.Context, request *machine.PacketCaptureRequest) io.ReadCloser {
	return newDataReader(ctx, "packet capture on "+request.GetInterface(), c.Machine.PacketCapture, request)
}
