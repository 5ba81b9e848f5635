// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
	timeres "github.com/seed-59268b81/talos/resources/time"
)

// apiLifetime is short: certificates of the API are renewed by themselves.
const apiLifetime = 24 * time.Hour

// apiController issues what apid serves with. With a configuration it is signed by the cluster's authority; without
// one by an authority of this boot, and no client is asked for a certificate. It does not wait for the clock to be
// set: an operator must reach a machine whose clock is wrong, and a certificate that the corrected clock finds unfit
// is issued anew at once.
//
// A worker has no authority's key: trustd of a control plane node signs for it, for serving alone.
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
			controller.In[k8s.EndpointSpec](controller.Weak, ""),
		},
		Writes: []controller.Output{controller.Out[secrets.APICertsSpec](controller.Exclusive)},
		Reconcile: func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
			root, err := typed.Find[secrets.OSRootSpec](ctx, rt, "", secrets.OSRootID)
			if err != nil {
				return err
			}

			issue, sansID := apiCerts, secrets.CertSANAPIID

			// Nothing but who the administrators are is known of a configuration that was lost: the machine serves as one without.
			lost := root != nil && len(root.TypedSpec().IssuingCA.Key) == 0 && root.TypedSpec().Token == ""

			if root == nil || lost {
				maintenance, err := typed.Find[secrets.MaintenanceRootSpec](ctx, rt, "", secrets.MaintenanceRootID)
				if err != nil || maintenance == nil {
					return err
				}

				issue, sansID = maintenanceCerts, secrets.CertSANMaintenanceID

				own := resource.New[secrets.OSRootSpec]("", secrets.OSRootID)
				own.TypedSpec().IssuingCA = maintenance.TypedSpec().CA

				if lost {
					issue, own.TypedSpec().AcceptedCAs = lostCerts, root.TypedSpec().AcceptedCAs
				}

				root = own
			}

			if len(root.TypedSpec().IssuingCA.Key) == 0 {
				return worker.reconcile(ctx, rt, log, *root.TypedSpec())
			}

			// Until there are names for the new authority, the API is served under the old one: it has no gap.
			sans, err := typed.Find[secrets.CertSANSpec](ctx, rt, "", sansID)
			if err != nil || sans == nil {
				return err
			}

			now := time.Now()

			return typed.Modify(ctx, rt, "", secrets.APIID, func(spec *secrets.APICertsSpec) error {
				next, renew, err := issue(*spec, *root.TypedSpec(), *sans.TypedSpec(), now)
				if err != nil {
					return err
				}

				*spec = next

				due.at(renew, now, rt.QueueReconcile)

				return nil
			})
		},
	}
}

// apiCerts keeps or issues apid's pair of certificates.
func apiCerts(current secrets.APICertsSpec, root secrets.OSRootSpec, sans secrets.CertSANSpec, now time.Time) (secrets.APICertsSpec, time.Time, error) {
	ca, err := pki.ParseCA(root.IssuingCA.Crt, root.IssuingCA.Key)
	if err != nil {
		return current, now, fmt.Errorf("machine.ca: %w", err)
	}

	server, renewServer, err := keepOrSign(current.Server, ca, pki.LeafOptions{
		CommonName: sans.FQDN, DNSNames: sans.DNSNames, IPs: sans.IPs, Server: true, TTL: apiLifetime,
	}, now)
	if err != nil {
		return current, now, err
	}

	client, renewClient, err := keepOrSign(current.Client, ca, pki.LeafOptions{
		CommonName: sans.FQDN, Organization: []string{contract.RoleImpersonator}, Client: true, TTL: apiLifetime,
	}, now)
	if err != nil {
		return current, now, err
	}

	return secrets.APICertsSpec{Server: server, Client: client, AcceptedCAs: root.AcceptedCAs}, earlier(renewServer, renewClient), nil
}

// maintenanceCerts is the same before there is a configuration.
func maintenanceCerts(current secrets.APICertsSpec, root secrets.OSRootSpec, sans secrets.CertSANSpec, now time.Time) (secrets.APICertsSpec, time.Time, error) {
	ca, err := pki.ParseCA(root.IssuingCA.Crt, root.IssuingCA.Key)
	if err != nil {
		return current, now, fmt.Errorf("maintenance authority: %w", err)
	}

	server, renew, err := keepOrSign(current.Server, ca, pki.LeafOptions{
		CommonName: pki.MaintenanceName, DNSNames: sans.DNSNames, IPs: sans.IPs, Server: true, TTL: apiLifetime,
	}, now)
	if err != nil {
		return current, now, err
	}

	return secrets.APICertsSpec{Server: server, SkipVerifyingClientCert: true}, renew, nil
}

// lostCerts is the same when the configuration was lost: its administrators are let in, and no one else.
func lostCerts(current secrets.APICertsSpec, root secrets.OSRootSpec, sans secrets.CertSANSpec, now time.Time) (secrets.APICertsSpec, time.Time, error) {
	next, renew, err := maintenanceCerts(current, root, sans, now)
	next.SkipVerifyingClientCert, next.AcceptedCAs = false, root.AcceptedCAs

	return next, renew, err
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}

	return a
}
