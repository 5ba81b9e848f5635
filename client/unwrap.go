// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/common"
)

// answer is the part of one node in a unary reply.
type answer interface {
	GetMetadata() *common.Metadata
}

// reply is the reply of a unary call: the answers of its nodes.
type reply[A answer] interface {
	GetMessages() []A
}

// unwrap returns the only answer of a reply.
func unwrap[A answer, R reply[A]](call string, r R, err error) (A, error) {
	var none A

	if err != nil {
		return none, fmt.Errorf("%s: %w", call, err)
	}

	messages := r.GetMessages()
	if len(messages) == 0 {
		return none, fmt.Errorf("%s: %w", call, errEmpty)
	}

	if err := metadataError(messages[0].GetMetadata()); err != nil {
		return none, fmt.Errorf("%s: %w", call, err)
	}

	return messages[0], nil
}

// call makes a unary call and returns the only answer of its reply.
func call[Q any, A answer, R reply[A]](
	ctx context.Context, name string, method func(context.Context, Q, ...grpc.CallOption) (R, error), request Q,
) (A, error) {
	r, err := method(ctx, request)

	return unwrap(name, r, err)
}

// run is call for a method with an empty answer.
func run[Q any, A answer, R reply[A]](
	ctx context.Context, name string, method func(context.Context, Q, ...grpc.CallOption) (R, error), request Q,
) error {
	_, err := call(ctx, name, method, request)

	return err
}

// field is call for one field of the answer.
func field[Q, V any, A answer, R reply[A]](
	ctx context.Context, name string, method func(context.Context, Q, ...grpc.CallOption) (R, error), request Q, get func(A) V,
) (V, error) {
	m, err := call(ctx, name, method, request)

	return get(m), err
}

// named puts the name of the call in front of its error.
func named(call string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", call, err)
	}

	return nil
}

var errEmpty = errors.New("the answer is empty: the server speaks another version of the API")

// metadataError returns the error of a node in a combined answer, which older servers send for calls to one node too.
func metadataError(md *common.Metadata) error {
	if s := md.GetStatus(); s.GetCode() != 0 {
		return status.FromProto(s).Err()
	}

	if text := md.GetError(); text != "" {
		return status.Error(codes.Unknown, text)
	}

	return nil
}
