// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/cosi/state"
)

// Clients distinguish errors by their codes, by rules that depend on the call. An error that already is a gRPC status,
// such as one from an access rule, is sent as it is.

func readError(err error) error {
	return errorWith(err, map[state.Class]codes.Code{
		state.InvalidBookmark: codes.FailedPrecondition,
		state.InvalidArgument: codes.InvalidArgument,
		state.Unsupported:     codes.Unimplemented,
	})
}

func createError(err error) error {
	return errorWith(err, map[state.Class]codes.Code{
		state.AlreadyExists:   codes.AlreadyExists,
		state.InvalidArgument: codes.InvalidArgument,
	})
}

// updateError returns InvalidArgument only for a phase conflict: clients recognize a phase conflict by that code.
func updateError(err error) error {
	return errorWith(err, map[state.Class]codes.Code{
		state.PhaseConflict:     codes.InvalidArgument,
		state.AlreadyExists:     codes.FailedPrecondition,
		state.VersionConflict:   codes.FailedPrecondition,
		state.PendingFinalizers: codes.FailedPrecondition,
	})
}

func writeError(err error) error {
	return errorWith(err, map[state.Class]codes.Code{
		state.AlreadyExists:     codes.FailedPrecondition,
		state.VersionConflict:   codes.FailedPrecondition,
		state.PhaseConflict:     codes.FailedPrecondition,
		state.PendingFinalizers: codes.FailedPrecondition,
		state.InvalidArgument:   codes.InvalidArgument,
	})
}

func errorWith(err error, byClass map[state.Class]codes.Code) error {
	var already interface{ GRPCStatus() *status.Status }
	if errors.As(err, &already) {
		return already.GRPCStatus().Err()
	}

	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return status.FromContextError(err).Err()
	}

	class := state.ClassOf(err)

	switch class { // the codes of other classes depend on the call
	case state.NotFound:
		return status.Error(codes.NotFound, err.Error())
	case state.OwnerConflict, state.AccessDenied:
		return status.Error(codes.PermissionDenied, err.Error())
	case state.Unavailable:
		return status.Error(codes.Unavailable, err.Error())
	}

	code, known := byClass[class]
	if !known {
		code = codes.Unknown
	}

	return status.Error(code, err.Error())
}

func malformed(err error) error { return status.Error(codes.InvalidArgument, err.Error()) }

// malformedUpdate must not use InvalidArgument (a phase conflict) or FailedPrecondition (a conflict that clients resolve by
// trying again).
func malformedUpdate(err error) error {
	return status.Error(codes.Unknown, "malformed update: "+err.Error())
}
