// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// errorOf turns a status into an error of the class that the code has for the operation. An error without a class is
// returned as it is.
func errorOf(op string, ptr resource.Pointer, err error) error {
	class := classOf(op, status.Code(err))
	if class == 0 {
		return err
	}

	return &state.Error{Class: class, Op: op, Ptr: ptr, Reason: status.Convert(err).Message(), Cause: err}
}

func classOf(op string, code codes.Code) state.Class {
	switch code { // other codes have no class
	case codes.NotFound:
		return state.NotFound
	case codes.AlreadyExists:
		return state.AlreadyExists
	case codes.PermissionDenied:
		if op == "get" || op == "list" || op == "watch" {
			return state.AccessDenied
		}

		return state.OwnerConflict
	case codes.InvalidArgument:
		if op == "update" {
			return state.PhaseConflict
		}

		return state.InvalidArgument
	case codes.FailedPrecondition:
		switch op {
		case "watch":
			return state.InvalidBookmark
		case "update":
			return state.VersionConflict
		default:
			return state.PendingFinalizers
		}
	case codes.Unimplemented:
		return state.Unsupported
	case codes.Unavailable:
		return state.Unavailable
	default:
		return 0
	}
}
