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
func receive[Q, M any](
	ctx context.Context, name string, method func(context.Context, Q, ...grpc.CallOption) (grpc.ServerStreamingClient[M], error), request Q,
) iter.Seq2[*M, error] {
	return func(yield func(*M, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()

		stream, err := method(ctx, request)
		if err != nil {
			yield(nil, fmt.Errorf("%s: %w", name, err))

			return
		}

		for {
			m, err := stream.Recv()

			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(nil, fmt.Errorf("%s: %w", name, err))

				return
			case !yield(m, nil):
				return
			}
		}
	}
}

// decoded yields what decode returns for each message that it does not skip; an error is the last thing it yields.
func decoded[M, V any](messages iter.Seq2[*M, error], decode func(*M) (v V, skip bool, err error)) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		for m, err := range messages {
			var (
				v    V
				skip bool
			)

			if err == nil {
				v, skip, err = decode(m)
			}

			if skip && err == nil {
				continue
			}

			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// answers checks messages in which an aggregating server may put the error of a node.
func answers[M any, P interface {
	*M
	answer
}](messages iter.Seq2[*M, error]) iter.Seq2[*M, error] {
	return decoded(messages, func(m *M) (*M, bool, error) { return m, false, metadataError(P(m).GetMetadata()) })
}
