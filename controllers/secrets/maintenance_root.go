// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// maintenanceRootController generates the authority of the maintenance API, once per boot.
func maintenanceRootController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "secrets.MaintenanceRootController",
		Writes:         []controller.Output{controller.Out[secrets.MaintenanceRootSpec](controller.Exclusive)},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			return typed.Modify(ctx, rt, "", secrets.MaintenanceRootID, func(spec *secrets.MaintenanceRootSpec) error {
				if !spec.CA.Empty() {
					return nil
				}

				ca, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519, Organization: []string{"talos"}})
				if err != nil {
					return err
				}

				spec.CA = secrets.CertAndKey(ca.PEM)

				return nil
			})
		},
	}
}
