// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/secrets"
	timeres "github.com/seed-59268b81/talos/resources/time"
)

// trustdController issues what trustd serves with, on control planes.
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
			machineType, err := typed.Find[config.MachineTypeSpec](ctx, rt, "", config.MachineTypeID)
			if err != nil || machineType == nil || !machineType.TypedSpec().MachineType.IsControlPlane() {
				return err
			}

			root, err := typed.Find[secrets.OSRootSpec](ctx, rt, "", secrets.OSRootID)
			if err != nil || root == nil {
				return err
			}

			sans, err := typed.Find[secrets.CertSANSpec](ctx, rt, "", secrets.CertSANAPIID)
			if err != nil || sans == nil {
				return err
			}

			now := time.Now()

			return typed.Modify(ctx, rt, "", secrets.TrustdID, func(spec *secrets.TrustdCertsSpec) error {
				ca, err := pki.ParseCA(root.TypedSpec().IssuingCA.Crt, root.TypedSpec().IssuingCA.Key)
				if err != nil {
					return fmt.Errorf("machine.ca: %w", err)
				}

				server, renew, err := keepOrSign(spec.Server, ca, pki.LeafOptions{
					CommonName: sans.TypedSpec().FQDN, DNSNames: sans.TypedSpec().DNSNames, IPs: sans.TypedSpec().IPs,
					Server: true, TTL: apiLifetime,
				}, now)
				if err != nil {
					return err
				}

				spec.Server, spec.AcceptedCAs = server, root.TypedSpec().AcceptedCAs

				due.at(renew, now, rt.QueueReconcile)

				return nil
			})
		},
	}
}
