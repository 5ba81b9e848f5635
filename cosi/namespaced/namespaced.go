// SPDX-License-Identifier: Apache-2.0

// Package namespaced makes one state of several: each namespace lives in one of them. So what is of this machine stays
// in memory, and what is of the whole cluster in etcd, side by side under one API:
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

// New returns the state that asks pick for the state of each namespace. It must give the same one each time. Nothing is
// in a namespace for which it gives nil: a Get finds nothing there, and all else is Unsupported. It can notify
// (state.Notifier) as far as the state of the namespace does.
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
