// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// found is the outcome of one read.
type found struct {
	ok  bool
	err error
}

// read copies the spec of a resource in its default namespace, if there is one that is not being torn down.
func read[S resource.Spec](ctx context.Context, r state.Reader, id string, into *S) found {
	res, err := typed.Find[S](ctx, r, "", id)
	if err != nil || res == nil || res.Metadata().Phase() == resource.PhaseTearingDown {
		return found{err: err}
	}

	*into = *res.TypedSpec()

	return found{ok: true}
}

// all tells whether every read found its resource.
func all(reads ...found) (bool, error) {
	for _, f := range reads {
		if f.err != nil || !f.ok {
			return false, f.err
		}
	}

	return true, nil
}
