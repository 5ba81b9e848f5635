// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
	timeres "github.com/seed-59268b81/talos/resources/time"
)

// apiLifetime is short, because certificates of the API are renewed automatically.
const apiLifetime = 24 * time.Hour

// apiController issues apid's certificates. With a configuration, the cluster's authority signs them. Without one, an authority of this
// boot does, and clients need no certificate. The controller does not wait for the clock: an administrator must reach a machine with
// a wrong clock. When the clock is corrected, certificates that no longer fit are replaced at once.
//
// A worker does not have the key of the authority: trustd on a control plane signs its server certificate. Until it does, the one of the boot
// before is used.
func apiController(ask signed) controller.Controller {
	var (
		due    renewal
		worker = workerAPI{ask: ask}
	)

	return &controller.Reconciler{
		ControllerName: "secrets.APIController",
		Reads: []controller.Input{
			controller.In[secrets.OSRootSpec](controller.Weak, "", secrets.OSRootID),
			controller.In[secrets.MaintenanceRootSpec](controller.Weak, "", secrets.MaintenanceRootID),
			controller.In[secrets.CertSANSpec](controller.Weak, ""),
			controller.In[timeres.StatusSpec](controller.Weak, "", timeres.StatusID),
			controller.In[secrets.APICertsSpec](controller.Weak, "", secrets.APIKeptID),
			controller.In[k8s.EndpointSpec](controller.Weak, ""),
		},
		Writes: []controller.Output{controller.Out[secrets.APICertsSpec](controller.Shared)},
		Reconcile: func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
			var root secrets.OSRootSpec

			f := typed.Read(ctx, rt, secrets.OSRootID, &root)
			if f.Err != nil {
				return f.Err
			}

			issue, sansID := apiCerts, secrets.CertSANAPIID

			// Of a lost configuration only the administrators are known: the machine serves as one without a configuration.
			lost := f.OK && isLost(root)

			if !f.OK || lost {
				var maintenance secrets.MaintenanceRootSpec

				if f := typed.Read(ctx, rt, secrets.MaintenanceRootID, &maintenance); !f.OK {
					return f.Err
				}

				issue, sansID = maintenanceCerts, secrets.CertSANMaintenanceID
				if lost {
					issue = lostCerts
				}

				root = secrets.OSRootSpec{IssuingCA: maintenance.CA, AcceptedCAs: root.AcceptedCAs}
			}

			if len(root.IssuingCA.Key) == 0 {
				return worker.reconcile(ctx, rt, log, root)
			}

			var sans secrets.CertSANSpec

			// Until there are names for the new authority, apid keeps its old certificate: the API is never closed.
			if f := typed.Read(ctx, rt, sansID, &sans); !f.OK {
				return f.Err
			}

			return update(ctx, rt, &due, secrets.APIID, func(current secrets.APICertsSpec, now time.Time) (secrets.APICertsSpec, time.Time, error) {
				return issue(current, root, sans, now)
			})
		},
	}
}

// serving returns the options of a server certificate of the API.
func serving(sans secrets.CertSANSpec) pki.LeafOptions {
	return pki.LeafOptions{CommonName: sans.FQDN, DNSNames: sans.DNSNames, IPs: sans.IPs, Server: true}
}

// apiCerts keeps or issues apid's pair of certificates.
func apiCerts(current secrets.APICertsSpec, root secrets.OSRootSpec, sans secrets.CertSANSpec, now time.Time) (secrets.APICertsSpec, time.Time, error) {
	next := secrets.APICertsSpec{Server: current.Server, Client: current.Client, AcceptedCAs: root.AcceptedCAs}

	due, err := renew(authority{"machine.ca", root.IssuingCA}, apiLifetime, now,
		leaf{&next.Server, serving(sans)},
		leaf{&next.Client, pki.LeafOptions{CommonName: sans.FQDN, Organization: []string{contract.RoleImpersonator}, Client: true}})

	return next, due, err
}

// maintenanceCerts keeps or issues apid's certificate before there is a configuration.
func maintenanceCerts(current secrets.APICertsSpec, root secrets.OSRootSpec, sans secrets.CertSANSpec, now time.Time) (secrets.APICertsSpec, time.Time, error) {
	next := secrets.APICertsSpec{Server: current.Server, SkipVerifyingClientCert: true}
	sans.FQDN = pki.MaintenanceName

	due, err := renew(authority{"maintenance authority", root.IssuingCA}, apiLifetime, now, leaf{&next.Server, serving(sans)})

	return next, due, err
}

// lostCerts keeps or issues apid's certificate when the configuration was lost: only its administrators are let in.
func lostCerts(current secrets.APICertsSpec, root secrets.OSRootSpec, sans secrets.CertSANSpec, now time.Time) (secrets.APICertsSpec, time.Time, error) {
	next, due, err := maintenanceCerts(current, root, sans, now)
	next.SkipVerifyingClientCert, next.AcceptedCAs = false, root.AcceptedCAs

	return next, due, err
}
