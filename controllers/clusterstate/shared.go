// SPDX-License-Identifier: Apache-2.0

package clusterstate

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seed-59268b81/talos/cosi/access"
	"github.com/seed-59268b81/talos/cosi/etcd"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Shared is the state of the cluster-wide namespace, as this machine serves it. While it has no store, or the store does not follow
// etcd, each call returns an error at once: Unavailable, or Unsupported on a machine that will not have one. Watches continue when
// etcd is back, and end with Unavailable when the store is closed.
type Shared struct {
	state.State

	mu    sync.Mutex
	store *etcd.Store // nil while there is none, because of why
	why   refusal
}

// refusal is why a machine does not serve the namespace.
type refusal struct {
	class  state.Class
	reason string
}

// New returns a state without a store, which StoreController opens.
func New() *Shared {
	s := &Shared{why: refusal{state.Unavailable, "the machine starts"}}
	s.State = access.Route(s.serve)

	return s
}

func (s *Shared) serve(_ context.Context, a access.Attempt) (state.State, error) {
	s.mu.Lock()
	store, why := s.store, s.why
	s.mu.Unlock()

	if store == nil {
		return nil, state.NewError(why.class, a.Op, a.Pointer, "%s", why.reason)
	}

	if err := store.Following(); err != nil {
		return nil, state.NewError(state.Unavailable, a.Op, a.Pointer,
			"etcd of this control plane does not answer: %v; check it (talosctl service etcd), or ask another control plane", err)
	}

	return answering{store}, nil
}

// replace sets the store, nil for none because of why, and closes the previous one.
func (s *Shared) replace(store *etcd.Store, why refusal) {
	s.mu.Lock()
	before := s.store
	s.store, s.why = store, why
	s.mu.Unlock()

	if before != nil {
		before.Close()
	}
}

// answering is a store whose reads from etcd end. It hides the store's Notify, whose calls would not end with the store.
type answering struct{ state.State }

// readTimeout is how long a read waits for an etcd that hangs.
const readTimeout = 10 * time.Second

// Get implements state.State.
func (a answering) Get(ctx context.Context, ptr resource.Pointer, opts ...state.GetOption) (resource.Resource, error) {
	short, cancel := context.WithTimeoutCause(ctx, readTimeout, errors.New("no answer within "+readTimeout.String()))
	defer cancel()

	r, err := a.State.Get(short, ptr, opts...)
	if err == nil || state.ClassOf(err) != 0 || ctx.Err() != nil {
		return r, err
	}

	if cause := context.Cause(short); cause != nil {
		err = cause
	}

	return nil, &state.Error{
		Class: state.Unavailable, Op: "get", Ptr: ptr, Cause: err,
		Reason: "etcd: " + err.Error() + "; without a majority of its members it answers nothing (talosctl etcd status)",
	}
}
