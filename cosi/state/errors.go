// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"fmt"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// Class of an Error.
type Class uint8

// The classes; OwnerConflict and PhaseConflict are conflicts too.
const (
	NotFound Class = iota + 1
	AlreadyExists
	VersionConflict
	PendingFinalizers
	OwnerConflict
	PhaseConflict
	Unsupported
	InvalidBookmark
	InvalidArgument
	AccessDenied
	Unavailable // for now: a later attempt may succeed
)

// Error of a state operation: the operation, the resource, and the reason of the refusal. Match it with the Is
// functions, or with errors.As and Class.
type Error struct {
	Class  Class
	Op     string
	Ptr    resource.Pointer
	Reason string
	// Cause is the error of a lower layer, such as a gRPC status; may be nil.
	Cause error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s %s: %s", e.Op, e.Ptr, e.Reason) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// NewError returns an Error with a formatted reason.
func NewError(class Class, op string, ptr resource.Pointer, format string, args ...any) *Error {
	return &Error{Class: class, Op: op, Ptr: ptr, Reason: fmt.Sprintf(format, args...)}
}

// ClassOf returns the class of an error, 0 if it is not an Error.
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}

	return 0
}

// IsNotFound reports whether the resource does not exist.
func IsNotFound(err error) bool { return ClassOf(err) == NotFound }

// IsConflict reports any conflict: existence, version, finalizers, owner, phase.
func IsConflict(err error) bool {
	switch ClassOf(err) { // other classes are not conflicts
	case AlreadyExists, VersionConflict, PendingFinalizers, OwnerConflict, PhaseConflict:
		return true
	default:
		return false
	}
}

// IsOwnerConflict reports whether the write was not made as the owner.
func IsOwnerConflict(err error) bool { return ClassOf(err) == OwnerConflict }

// IsPhaseConflict reports whether the resource was in another phase than expected.
func IsPhaseConflict(err error) bool { return ClassOf(err) == PhaseConflict }

// IsInvalidBookmark reports whether the bookmark was foreign, malformed or expired.
func IsInvalidBookmark(err error) bool { return ClassOf(err) == InvalidBookmark }

// IsUnavailable reports whether the store cannot be reached for now.
func IsUnavailable(err error) bool { return ClassOf(err) == Unavailable }
