// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/controllers/volume"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/secrets"
)

const (
	keptAPIName      = "secrets.KeptAPIController"
	keptAPIRequester = "api-certificate"
	// keptAPIFile on the volume STATE has the server certificate of a worker's API with its key.
	keptAPIFile = "api-certificate"
	// maxKeptAPI is far more than a certificate with its chain needs, in bytes.
	maxKeptAPI = 64 << 10
)

// keptAPIController keeps the certificate of a worker's API on STATE, beside the configuration, which has the secrets of the machine too. From the boot
// until the API has a certificate it publishes the kept one: so a worker that starts while no control plane answers can be reached.
func keptAPIController() controller.Controller {
	file := volume.Kept[secrets.CertAndKey]{Controller: keptAPIName, Requester: keptAPIRequester, File: keptAPIFile, Max: maxKeptAPI}

	return &controller.Reconciler{
		ControllerName: keptAPIName,
		Reads: append(volume.Inputs(),
			controller.In[secrets.OSRootSpec](controller.Weak, "", secrets.OSRootID),
			controller.In[secrets.APICertsSpec](controller.Weak, "", secrets.APIID),
		),
		Writes: []controller.Output{volume.Output(), controller.Out[secrets.APICertsSpec](controller.Shared)},
		// The request for STATE is not written again once it is served, and so destroyed.
		Cleanup: []resource.Kind{resource.KindOf[block.VolumeMountRequestSpec](""), resource.KindOf[secrets.APICertsSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
			var (
				root secrets.OSRootSpec
				held secrets.APICertsSpec
			)

			configured, serves := typed.Read(ctx, rt, secrets.OSRootID, &root), typed.Read(ctx, rt, secrets.APIID, &held)
			if _, err := typed.All(configured, serves); err != nil {
				return err
			}

			// A control plane issues its own.
			if !configured.OK || isLost(root) || len(root.IssuingCA.Key) > 0 {
				return nil
			}

			kept, ok, err := file.Read(ctx, rt)
			if !ok {
				return err
			}

			if err != nil {
				log.WarnContext(ctx, "the certificate that the API had before this boot is lost", "error", err)
			}

			if serves.OK && !held.SkipVerifyingClientCert {
				kept = held.Server
			} else if !kept.Empty() {
				if err := typed.Set(ctx, rt, "", secrets.APIKeptID, secrets.APICertsSpec{Server: kept, AcceptedCAs: root.AcceptedCAs}); err != nil {
					return err
				}
			}

			return file.Write(ctx, rt, kept)
		},
	}
}

// isLost reports whether the configuration was lost: only its administrators are known.
func isLost(root secrets.OSRootSpec) bool { return len(root.IssuingCA.Key) == 0 && root.Token == "" }
