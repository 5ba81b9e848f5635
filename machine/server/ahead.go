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

// Check decides by caller and method alone whether a call may run. Its error is returned to the caller.
type Check func(ctx context.Context, method string) error

// ahead runs the checks when the header of a call has arrived, before its messages are buffered or decoded. An interceptor
// would be too late: gRPC decodes the request of a unary call first.
//
// It runs on the goroutine that reads the connection, where no other function recovers from panics.
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
