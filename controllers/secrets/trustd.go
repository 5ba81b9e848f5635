// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/secrets"
	timeres "github.com/seed-59268b81/talos/resources/time"
)

// trustdController issues trustd's certificate, on control planes.
func trustdController() controller.Controller {
	var due renewal

	return &controller.Reconciler{
		ControllerName: "secrets.TrustdController",
		Reads: []controller.Input{
			controller.In[secrets.OSRootSpec](controller.Weak, "", secrets.OSRootID),
			controller.In[secrets.CertSANSpec](controller.Weak, "", secrets.CertSANAPIID),
			controller.In[config.MachineTypeSpec](controller.Weak, "", config.MachineTypeID),
			controller.In[timeres.StatusSpec](controller.Weak, "", timeres.StatusID),
		},
		Writes:  []controller.Output{controller.Out[secrets.TrustdCertsSpec](controller.Exclusive)},
		Cleanup: []resource.Kind{resource.KindOf[secrets.TrustdCertsSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			var (
				machineType config.MachineTypeSpec
				root        secrets.OSRootSpec
				sans        secrets.CertSANSpec
			)

			ok, err := typed.All(
				typed.Read(ctx, rt, config.MachineTypeID, &machineType),
				typed.Read(ctx, rt, secrets.OSRootID, &root),
				typed.Read(ctx, rt, secrets.CertSANAPIID, &sans),
			)
			if err != nil || !ok || !machineType.MachineType.IsControlPlane() {
				return err
			}

			return update(ctx, rt, &due, secrets.TrustdID, func(next secrets.TrustdCertsSpec, now time.Time) (secrets.TrustdCertsSpec, time.Time, error) {
				renewAt, err := renew(authority{"machine.ca", root.IssuingCA}, apiLifetime, now, leaf{&next.Server, serving(sans)})
				next.AcceptedCAs = root.AcceptedCAs

				return next, renewAt, err
			})
		},
	}
}
