// SPDX-License-Identifier: Apache-2.0

// Package access puts a rule in front of a state: a function that sees each call first and may refuse it.
//
//	readOnly := access.New(st, func(ctx context.Context, a access.Attempt) error {
//		if a.Verb.Writes() {
//			return status.Error(codes.PermissionDenied, "read only")
//		}
//		return nil
//	})
//
// The rule's error is returned as it is. Native operations of the state stay native.
package access

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Verb is what is attempted. Finalizers are an Update, teardown is a Destroy.
type Verb uint8

// The verbs.
const (
	Get Verb = iota
	List
	Watch
	Create
	Update
	Destroy
)

// Writes reports whether the verb changes something.
func (v Verb) Writes() bool { return v >= Create }

// String returns the verb in lower case.
func (v Verb) String() string {
	names := [...]string{"get", "list", "watch", "create", "update", "destroy"}
	if int(v) >= len(names) {
		return "unknown"
	}

	return names[v]
}

// Attempt is one call.
type Attempt struct {
	// Pointer is the address. Its ID is empty for a list and for the watch of a kind.
	resource.Pointer

	Verb Verb
	// Op names the call in errors: the verb, or more precisely "modify", "teardown", "add finalizer" and so on.
	Op string
	// Options are those of a write.
	Options []state.WriteOption
}

// Rule refuses an attempt by an error.
type Rule func(ctx context.Context, a Attempt) error

// New returns the state behind the rule. It is a state.Notifier as far as st is one.
func New(st state.State, rule Rule) state.State {
	return Route(func(ctx context.Context, a Attempt) (state.State, error) { return st, rule(ctx, a) })
}
