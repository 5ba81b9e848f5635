// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	timeres "github.com/seed-59268b81/talos/resources/time"
)

func timeInput() controller.Input {
	return controller.In[timeres.StatusSpec](controller.Weak, "", timeres.StatusID)
}

// timeUsable tells whether certificates of the cluster may be issued: their start must not be a wrong clock's.
func timeUsable(ctx context.Context, r state.Reader) (bool, error) {
	status, err := typed.Find[timeres.StatusSpec](ctx, r, "", timeres.StatusID)
	if err != nil || status == nil {
		return false, err
	}

	return status.TypedSpec().Usable(), nil
}
