// SPDX-License-Identifier: Apache-2.0

// Package namespaced combines several states into one: each namespace is in one of them. For example, resources of this
// machine are in memory, those of the whole cluster in etcd, and clients use one API:
//
//	st := namespaced.New(func(namespace string) state.State {
//		if namespace == "cluster" {
//			return shared
//		}
//		return local
//	})
package namespaced

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/access"
	"github.com/seed-59268b81/talos/cosi/state"
)

// New returns a state that calls pick for the state of a namespace. pick must return the same state each time. A namespace
// for which pick returns nil is empty: Get returns NotFound, and all other calls return Unsupported. The returned state is a
// state.Notifier; Notify is Unsupported if the state of the namespace cannot notify.
func New(pick func(namespace string) state.State) state.State {
	return access.Route(func(_ context.Context, a access.Attempt) (state.State, error) {
		if st := pick(a.Namespace); st != nil {
			return st, nil
		}

		class := state.Unsupported
		if a.Verb == access.Get {
			class = state.NotFound
		}

		return nil, state.NewError(class, a.Op, a.Pointer, "no state keeps the namespace %q", a.Namespace)
	})
}
