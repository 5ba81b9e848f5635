// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
)

// Logs streams the log of a service or container.
func (c *Client) Logs(ctx context.Context, request *machine.LogsRequest) io.ReadCloser {
	return newDataReader(ctx, "logs of "+request.GetId(), c.Machine.Logs, request)
}

// Dmesg streams the kernel log. With follow it does not end, and with tail it leaves out existing messages.
func (c *Client) Dmesg(ctx context.Context, follow, tail bool) io.ReadCloser {
	return newDataReader(ctx, "dmesg", c.Machine.Dmesg, &machine.DmesgRequest{Follow: follow, Tail: tail})
}

type dataStream = grpc.ServerStreamingClient[common.Data]

// dataReader reads the bytes of a stream of chunks. The call is made at the first Read, and Close ends it.
type dataReader struct {
	call   string
	cancel context.CancelFunc
	open   func() (dataStream, error)
	stream dataStream
	rest   []byte
}

func newDataReader[Q any](
	ctx context.Context, name string, method func(context.Context, Q, ...grpc.CallOption) (dataStream, error), request Q,
) *dataReader {
	ctx, cancel := context.WithCancel(ctx)

	return &dataReader{call: name, cancel: cancel, open: func() (dataStream, error) { return method(ctx, request) }}
}

// Read implements io.Reader.
func (r *dataReader) Read(p []byte) (int, error) {
	if r.stream == nil {
		stream, err := r.open()
		if err != nil {
			return 0, fmt.Errorf("%s: %w", r.call, err)
		}

		r.stream = stream
	}

	for len(r.rest) == 0 {
		chunk, err := r.stream.Recv()
		if err == nil {
			err = metadataError(chunk.GetMetadata())
		}

		if errors.Is(err, io.EOF) {
			return 0, io.EOF
		}

		if err != nil {
			return 0, fmt.Errorf("%s: %w", r.call, err)
		}

		r.rest = chunk.GetBytes()
	}

	n := copy(p, r.rest)
	r.rest = r.rest[n:]

	return n, nil
}

// Close implements io.Closer.
func (r *dataReader) Close() error {
	r.cancel()

	return nil
}
