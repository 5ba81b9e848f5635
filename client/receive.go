// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"google.golang.org/grpc"
)

// receive yields the messages of a server stream until it ends; an error is the last thing it yields.
func receive[M any](ctx context.Context, call string, open func(context.Context) (grpc.ServerStreamingClient[M], error)) iter.Seq2[*M, error] {
	return func(yield func(*M, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()

		stream, err := open(ctx)
		if err != nil {
			yield(nil, fmt.Errorf("%s: %w", call, err))

			return
		}

		for {
			m, err := stream.Recv()

			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(nil, fmt.Errorf("%s: %w", call, err))

				return
			case !yield(m, nil):
				return
			}
		}
	}
}

// answers is receive for messages in which an aggregating server may put the error of a node.
func answers[M any, P interface {
	*M
	answer
}](ctx context.Context, call string, open func(context.Context) (grpc.ServerStreamingClient[M], error)) iter.Seq2[*M, error] {
	return func(yield func(*M, error) bool) {
		for m, err := range receive(ctx, call, open) {
			if err == nil {
				err = metadataError(P(m).GetMetadata())
			}

			if !yield(m, err) || err != nil {
				return
			}
		}
	}
}
