// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// kubernetesDynamicCertsController issues the API server's certificates, and replaces them when the node's names or addresses or the
// authority change, and at half of their life.
func kubernetesDynamicCertsController() controller.Controller {
	return issuer("secrets.KubernetesDynamicCertsController", secrets.KubernetesRootID, secrets.KubernetesDynamicID,
		func(ctx context.Context, r state.Reader, root secrets.KubernetesRootSpec) (issuance[secrets.KubernetesDynamicCertsSpec], error) {
			var sans secrets.CertSANSpec

			if f := typed.Read(ctx, r, secrets.CertSANKubernetesID, &sans); !f.OK {
				return nil, f.Err
			}

			return func(current secrets.KubernetesDynamicCertsSpec, now time.Time) (secrets.KubernetesDynamicCertsSpec, time.Time, error) {
				return kubernetesDynamicCerts(current, root, sans, now)
			}, nil
		}, controller.In[secrets.CertSANSpec](controller.Weak, "", secrets.CertSANKubernetesID))
}

// kubernetesDynamicCerts keeps or issues the three certificates.
func kubernetesDynamicCerts(next secrets.KubernetesDynamicCertsSpec, root secrets.KubernetesRootSpec, sans secrets.CertSANSpec, now time.Time) (secrets.KubernetesDynamicCertsSpec, time.Time, error) {
	due, err := renew(authority{"cluster.ca", root.IssuingCA}, kubernetesLifetime, now,
		leaf{&next.APIServer, pki.LeafOptions{
			CommonName: "kube-apiserver", Organization: []string{"kube-master"}, DNSNames: sans.DNSNames, IPs: sans.IPs, Server: true,
		}},
		leaf{&next.APIServerKubeletClient, pki.LeafOptions{
			CommonName: "apiserver-kubelet-client", Organization: []string{secrets.KubeletClientGroup}, Client: true,
		}})
	if err != nil {
		return next, now, err
	}

	frontDue, err := renew(authority{"cluster.aggregatorCA", root.AggregatorCA}, kubernetesLifetime, now,
		leaf{&next.FrontProxy, pki.LeafOptions{CommonName: secrets.FrontProxyName, Client: true}})

	return next, earlier(due, frontDue), err
}
