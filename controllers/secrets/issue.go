// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/controllers/keep"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	timeres "github.com/seed-59268b81/talos/resources/time"
)

// recheck bounds the time between two checks of a certificate against the clock: timers count elapsed time, and the clock may drift
// away from it. A step of the clock wakes the controllers by itself.
const recheck = 6 * time.Hour

// renewal wakes a controller when a certificate is due. A timer that fires after its controller has ended does no harm.
type renewal struct{ timer *time.Timer }

// at sets the next wake-up, and cancels the one before.
func (r *renewal) at(due, now time.Time, wake func()) {
	if r.timer != nil {
		r.timer.Stop()
	}

	r.timer = time.AfterFunc(min(max(due.Sub(now), time.Second), recheck), wake)
}

// issuance keeps or issues the certificates of a resource, and returns when to check them again.
type issuance[C resource.Spec] func(current C, now time.Time) (next C, due time.Time, err error)

// update brings the resource up to date.
func update[C resource.Spec](ctx context.Context, rt controller.Runtime, due *renewal, id string, issue issuance[C]) error {
	now := time.Now()

	return typed.Modify(ctx, rt, "", id, func(spec *C) error {
		next, renew, err := issue(*spec, now)
		if err != nil {
			return err
		}

		*spec = next

		due.at(renew, now, rt.QueueReconcile)

		return nil
	})
}

// issuer returns the controller of certificates that the authority R issues. They are destroyed with the authority. They stay
// unchanged until the clock is set, and while prepare returns nil because another input is missing.
func issuer[R, C resource.Spec](
	name, rootID, id string, prepare func(ctx context.Context, r state.Reader, root R) (issuance[C], error), inputs ...controller.Input,
) controller.Controller {
	var due renewal

	return &controller.Reconciler{
		ControllerName: name,
		Reads: append(inputs,
			controller.In[R](controller.Weak, "", rootID),
			controller.In[timeres.StatusSpec](controller.Weak, "", timeres.StatusID),
		),
		Writes:  []controller.Output{controller.Out[C](controller.Exclusive)},
		Cleanup: []resource.Kind{resource.KindOf[C]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			var (
				root  R
				clock timeres.StatusSpec
			)

			if f := typed.Read(ctx, rt, rootID, &root); !f.OK {
				return f.Err
			}

			issue, err := prepare(ctx, rt, root)
			if err != nil {
				return err
			}

			// A wrong clock would give certificates a wrong start.
			f := typed.Read(ctx, rt, timeres.StatusID, &clock)
			if f.Err != nil {
				return f.Err
			}

			if issue == nil || !clock.Usable() {
				return keep.Outputs[C](ctx, rt, id)
			}

			return update(ctx, rt, &due, id, issue)
		},
	}
}
