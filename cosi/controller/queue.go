// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// QueueController works on one resource at a time, from a queue without duplicates. It scales to many resources; a
// Controller, which visits all of them at each change, does not. Several resources are in work at a time, but never the
// same one twice, and a failing one delays no other.
type QueueController interface {
	// Name is unique, domain.NameController; it is the owner of what the controller writes.
	Name() string
	// Settings is called once, at registration.
	Settings() QueueSettings
	// Reconcile updates everything that depends on one resource of a Primary input. The resource may have been destroyed
	// already. An error puts it back into the queue after a growing delay; see also Requeue and ErrSkip.
	//
	// It is called again when the resource changes, and once more after it was destroyed, even if a broken watch of a
	// remote state missed that.
	Reconcile(ctx context.Context, rt Access, log *slog.Logger, ptr resource.Pointer) error
}

// Mapper is implemented by a QueueController with inputs of the kinds Mapped and MappedDestroyReady.
type Mapper interface {
	// MapInput maps a change of a resource of a Mapped input to resources of Primary inputs.
	MapInput(ctx context.Context, rt Access, log *slog.Logger, changed Changed) ([]resource.Pointer, error)
}

// QueueSettings of a queue controller.
type QueueSettings struct {
	// Inputs of the kinds Primary, Mapped and MappedDestroyReady.
	Inputs  []Input
	Outputs []Output
	// Concurrency is how many resources are worked on at a time; zero is one.
	Concurrency int
	// RunHook runs in parallel to the queue. When it fails, it runs again after a delay, until it returns nil.
	RunHook func(ctx context.Context, rt Access, log *slog.Logger) error
	// ShutdownHook runs when all work has ended. Its context is still active.
	ShutdownHook func(ctx context.Context, rt Access, log *slog.Logger) error
}

// Changed describes a changed resource without a read.
type Changed struct {
	resource.Pointer

	Phase           resource.Phase
	FinalizersEmpty bool
	Labels          resource.KeyValues
}

// ChangedOf returns the description of a resource.
func ChangedOf(md *resource.Metadata) Changed {
	return Changed{Pointer: md.Pointer(), Phase: md.Phase(), FinalizersEmpty: len(md.Finalizers()) == 0, Labels: md.Labels()}
}

// ErrSkip means that the controller skips a resource for a reason that is not a failure. Its outputs stay as they are, the
// skip is logged and counted, and the next change of the resource tries again. Wrap it to give the reason.
var ErrSkip = errors.New("skipped")

// RequeueError puts the resource back into the queue after a given time.
type RequeueError struct {
	Err   error // nil when nothing failed
	After time.Duration
}

// Requeue returns an error that is not a failure; the resource is reconciled again after the delay.
func Requeue(after time.Duration) error { return &RequeueError{After: after} }

// RequeueWith returns a failure with a given delay instead of a growing one.
func RequeueWith(err error, after time.Duration) error { return &RequeueError{Err: err, After: after} }

// Error implements error.
func (e *RequeueError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("again in %s", e.After)
	}

	return e.Err.Error()
}

// Unwrap returns the failure.
func (e *RequeueError) Unwrap() error { return e.Err }
