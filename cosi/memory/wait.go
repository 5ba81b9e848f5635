// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// WatchFor implements state.State.
func (s *State) WatchFor(ctx context.Context, ptr resource.Pointer, conditions ...state.Condition) (resource.Resource, error) {
	return state.WatchUntil(ctx, s, ptr, conditions...)
}

// TeardownAndDestroy implements state.State. If another writer destroys the resource first, that is success.
func (s *State) TeardownAndDestroy(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) error {
	return state.TeardownAndWait(ctx, s, ptr, opts...)
}
