// SPDX-License-Identifier: Apache-2.0

package typed

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Found is the outcome of a Read.
type Found struct {
	OK  bool
	Err error
}

// Read copies the spec of a resource in its default namespace into a value. Controllers read their inputs with it. A resource
// that is being torn down is not found: its owner is about to destroy it, so it must not have new outputs. A controller that
// takes part in the teardown, because it has a finalizer on the resource, uses Find, which returns the resource too.
func Read[S resource.Spec](ctx context.Context, r state.Reader, id string, into *S) Found {
	res, err := Find[S](ctx, r, "", id)
	if err != nil || res == nil || res.Metadata().Phase() == resource.PhaseTearingDown {
		return Found{Err: err}
	}

	*into = *res.TypedSpec()

	return Found{OK: true}
}

// All reports whether every read found its resource. The error is that of the first read that did not.
func All(reads ...Found) (bool, error) {
	for _, f := range reads {
		if f.Err != nil || !f.OK {
			return false, f.Err
		}
	}

	return true, nil
}
