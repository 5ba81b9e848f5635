// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"runtime/debug"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// Check decides about a call by its caller and method alone; its error is the caller's answer.
type Check func(ctx context.Context, method string) error

// ahead asks the checks when the header of a call has come, before a byte of its messages is kept or decoded. An interceptor
// is too late: gRPC decodes the request of a unary call before it asks one.
//
// It runs on the goroutine that reads the connection, outside of every recover but its own.
func ahead(checks []Check) tap.ServerInHandle {
	return func(ctx context.Context, info *tap.Info) (_ context.Context, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = status.Errorf(codes.Internal, "%s: the check of the caller failed: %v\n%s", info.FullMethodName, p, debug.Stack())
			}
		}()

		for _, check := range checks {
			if err := check(ctx, info.FullMethodName); err != nil {
				return nil, err
			}
		}

		return ctx, nil
	}
}
