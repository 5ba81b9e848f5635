// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/controllers/keep"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// kubernetesDynamicCertsController issues the API server's certificates, again when the node's names or addresses
// change, when the authority does, and at half of their life.
func kubernetesDynamicCertsController() controller.Controller {
	var due renewal

	return &controller.Reconciler{
		ControllerName: "secrets.KubernetesDynamicCertsController",
		Reads: []controller.Input{
			controller.In[secrets.KubernetesRootSpec](controller.Weak, "", secrets.KubernetesRootID),
			controller.In[secrets.CertSANSpec](controller.Weak, "", secrets.CertSANKubernetesID),
			timeInput(),
		},
		Writes:  []controller.Output{controller.Out[secrets.KubernetesDynamicCertsSpec](controller.Exclusive)},
		Cleanup: []resource.Kind{resource.KindOf[secrets.KubernetesDynamicCertsSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			root, err := typed.Find[secrets.KubernetesRootSpec](ctx, rt, "", secrets.KubernetesRootID)
			if err != nil || root == nil {
				return err
			}

			sans, err := typed.Find[secrets.CertSANSpec](ctx, rt, "", secrets.CertSANKubernetesID)
			if err != nil {
				return err
			}

			if sans == nil {
				return keep.Outputs[secrets.KubernetesDynamicCertsSpec](ctx, rt, secrets.KubernetesDynamicID)
			}

			ok, err := timeUsable(ctx, rt)
			if err != nil {
				return err
			}

			if !ok {
				return keep.Outputs[secrets.KubernetesDynamicCertsSpec](ctx, rt, secrets.KubernetesDynamicID)
			}

			now := time.Now()

			return typed.Modify(ctx, rt, "", secrets.KubernetesDynamicID, func(spec *secrets.KubernetesDynamicCertsSpec) error {
				next, renew, err := kubernetesDynamicCerts(*spec, *root.TypedSpec(), *sans.TypedSpec(), now)
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

// kubernetesDynamicCerts keeps or issues the three certificates.
func kubernetesDynamicCerts(current secrets.KubernetesDynamicCertsSpec, root secrets.KubernetesRootSpec, sans secrets.CertSANSpec, now time.Time) (secrets.KubernetesDynamicCertsSpec, time.Time, error) {
	ca, err := pki.ParseCA(root.IssuingCA.Crt, root.IssuingCA.Key)
	if err != nil {
		return current, now, fmt.Errorf("cluster.ca: %w", err)
	}

	aggregator, err := pki.ParseCA(root.AggregatorCA.Crt, root.AggregatorCA.Key)
	if err != nil {
		return current, now, fmt.Errorf("cluster.aggregatorCA: %w", err)
	}

	next, due := current, now.Add(kubernetesLifetime)

	for _, leaf := range []struct {
		pair *secrets.CertAndKey
		ca   *pki.CA
		want pki.LeafOptions
	}{
		{&next.APIServer, ca, pki.LeafOptions{
			CommonName: "kube-apiserver", Organization: []string{"kube-master"}, DNSNames: sans.DNSNames, IPs: sans.IPs, Server: true,
		}},
		{&next.APIServerKubeletClient, ca, pki.LeafOptions{
			CommonName: "apiserver-kubelet-client", Organization: []string{secrets.KubeletClientGroup}, Client: true,
		}},
		{&next.FrontProxy, aggregator, pki.LeafOptions{CommonName: secrets.FrontProxyName, Client: true}},
	} {
		leaf.want.TTL = kubernetesLifetime

		pair, renew, err := keepOrSign(*leaf.pair, leaf.ca, leaf.want, now)
		if err != nil {
			return current, now, err
		}

		*leaf.pair, due = pair, earlier(due, renew)
	}

	return next, due, nil
}
