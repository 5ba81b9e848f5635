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
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/secrets"
	timeres "github.com/seed-59268b81/talos/resources/time"
)

// daemon issues the resource that a daemon of control planes serves with, whose certificate is for the names of the machine's API.
type daemon[C resource.Spec] struct {
	name, id string
	// wants returns what completes the resource and returns the place of its certificate, or nil if the daemon is not to serve. It reads
	// the inputs.
	wants  func(ctx context.Context, r state.Reader) (func(next *C, root secrets.OSRootSpec) *secrets.CertAndKey, error)
	inputs []controller.Input
	// keeps is set if the resource stays while the authority or the names are missing for a moment.
	keeps bool
}

func (d daemon[C]) controller() controller.Controller {
	var due renewal

	return &controller.Reconciler{
		ControllerName: d.name,
		Reads: append(d.inputs,
			controller.In[secrets.OSRootSpec](controller.Weak, "", secrets.OSRootID),
			controller.In[secrets.CertSANSpec](controller.Weak, "", secrets.CertSANAPIID),
			controller.In[config.MachineTypeSpec](controller.Weak, "", config.MachineTypeID),
			controller.In[timeres.StatusSpec](controller.Weak, "", timeres.StatusID),
		),
		Writes:  []controller.Output{controller.Out[C](controller.Exclusive)},
		Cleanup: []resource.Kind{resource.KindOf[C]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			var (
				machineType config.MachineTypeSpec
				root        secrets.OSRootSpec
				sans        secrets.CertSANSpec
			)

			if f := typed.Read(ctx, rt, config.MachineTypeID, &machineType); !f.OK || !machineType.MachineType.IsControlPlane() {
				return f.Err
			}

			complete, err := d.wants(ctx, rt)
			if err != nil || complete == nil {
				return err
			}

			ok, err := typed.All(typed.Read(ctx, rt, secrets.OSRootID, &root), typed.Read(ctx, rt, secrets.CertSANAPIID, &sans))

			switch {
			case err != nil || !ok && !d.keeps:
				return err
			case !ok:
				return keep.Outputs[C](ctx, rt, d.id)
			}

			return update(ctx, rt, &due, d.id, func(next C, now time.Time) (C, time.Time, error) {
				served := complete(&next, root)
				renewAt, err := renew(authority{"machine.ca", root.IssuingCA}, apiLifetime, now, leaf{served, serving(sans)})

				return next, renewAt, err
			})
		},
	}
}
