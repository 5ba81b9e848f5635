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

// QueueController works on one resource at a time, out of a queue without duplicates. It scales to many resources,
// where a Controller that goes through all of them at each change does not: one resource is never in work twice at
// once, a failing one waits alone, and several are worked on at a time.
type QueueController interface {
	// Name is unique, domain.NameController; it is the owner of what the controller writes.
	Name() string
	// Settings is called once, at registration.
	Settings() QueueSettings
	// Reconcile brings in line what depends on one resource of a Primary input, which may be gone by now. An error
	// puts it back into the queue after a delay that grows; see also Requeue and ErrSkip.
	//
	// It is called again when a resource changes, and once more when it is gone, also where that was not seen because
	// the watch of a remote state was broken.
	Reconcile(ctx context.Context, rt Access, log *slog.Logger, ptr resource.Pointer) error
}

// Mapper is what a QueueController with inputs of the kinds Mapped and MappedDestroyReady is besides.
type Mapper interface {
	// MapInput returns the resources of Primary inputs that a change of a resource of a Mapped input concerns.
	MapInput(ctx context.Context, rt Access, log *slog.Logger, changed Changed) ([]resource.Pointer, error)
}

// QueueSettings of a queue controller.
type QueueSettings struct {
	// Inputs of the kinds Primary, Mapped and MappedDestroyReady.
	Inputs  []Input
	Outputs []Output
	// Concurrency is how many resources are worked on at a time; zero is one.
	Concurrency int
	// RunHook runs beside the queue, and again after a delay when it fails, until it returns nil.
	RunHook func(ctx context.Context, rt Access, log *slog.Logger) error
	// ShutdownHook runs when all work has ended. Its context is not the one that has ended.
	ShutdownHook func(ctx context.Context, rt Access, log *slog.Logger) error
}

// Changed is what is known of a changed resource without reading it.
type Changed struct {
	resource.Pointer

	Phase           resource.Phase
	FinalizersEmpty bool
	Labels          resource.KeyValues
}

// ChangedOf returns what is passed on of a resource.
func ChangedOf(md *resource.Metadata) Changed {
	return Changed{Pointer: md.Pointer(), Phase: md.Phase(), FinalizersEmpty: len(md.Finalizers()) == 0, Labels: md.Labels()}
}

// ErrSkip says that a resource is not worked on for a reason that is no failure: what was made of it stays as it is, it is
// logged and counted, and the next change tries again. Wrap it to say why.
var ErrSkip = errors.New("skipped")

// RequeueError puts the resource back into the queue after a given time.
type RequeueError struct {
	Err   error // nil when nothing failed
	After time.Duration
}

// Requeue returns an error that is no failure, but has the resource worked on again.
func Requeue(after time.Duration) error { return &RequeueError{After: after} }

// RequeueWith returns a failure whose delay is given.
func RequeueWith(err error, after time.Duration) error { return &RequeueError{Err: err, After: after} }

// Error implements error.
func (e *RequeueError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("again in %s", e.After)
	}

	return e.Err.Error()
}

// Unwrap returns what failed.
func (e *RequeueError) Unwrap() error { return e.Err }
