// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// kubernetesLifetime is that of the certificates and kubeconfigs of the control plane; they are renewed at half of it.
const kubernetesLifetime = 365 * 24 * time.Hour

// localAdmin is the name under which the machine itself administers the cluster.
const localAdmin = "talos:admin"

// kubernetesController writes the kubeconfigs of the control plane's own clients.
func kubernetesController() controller.Controller {
	return issuer("secrets.KubernetesController", secrets.KubernetesRootID, secrets.KubernetesID,
		func(_ context.Context, _ state.Reader, root secrets.KubernetesRootSpec) (issuance[secrets.KubernetesCertsSpec], error) {
			return func(current secrets.KubernetesCertsSpec, now time.Time) (secrets.KubernetesCertsSpec, time.Time, error) {
				return kubernetesCerts(current, root, now)
			}, nil
		})
}

// kubernetesCerts keeps or replaces the four kubeconfigs.
func kubernetesCerts(current secrets.KubernetesCertsSpec, root secrets.KubernetesRootSpec, now time.Time) (secrets.KubernetesCertsSpec, time.Time, error) {
	next, due := current, now.Add(kubernetesLifetime)

	for _, c := range []struct {
		text   *string
		config kubeconfig.Config
		want   pki.LeafOptions
	}{
		{
			&next.SchedulerKubeconfig,
			kubeconfig.Config{Server: root.LocalEndpoint.String(), User: "kube-scheduler"},
			pki.LeafOptions{CommonName: "system:kube-scheduler", Organization: []string{"system:kube-scheduler"}},
		},
		{
			&next.ControllerManagerKubeconfig,
			kubeconfig.Config{Server: root.LocalEndpoint.String(), User: "kube-controller-manager"},
			pki.LeafOptions{CommonName: "system:kube-controller-manager", Organization: []string{"system:kube-controller-manager"}},
		},
		{
			&next.LocalhostAdminKubeconfig,
			kubeconfig.Config{Server: root.LocalEndpoint.String(), User: "admin"},
			pki.LeafOptions{CommonName: localAdmin, Organization: []string{"system:masters"}},
		},
		{
			&next.AdminKubeconfig,
			kubeconfig.Config{Server: root.Endpoint.String(), User: "admin"},
			pki.LeafOptions{CommonName: localAdmin, Organization: []string{"system:masters"}},
		},
	} {
		c.config.Cluster, c.config.CA = root.Name, secrets.JoinCerts(root.AcceptedCAs)
		c.want.Client = true

		held := heldPair(*c.text, c.config)
		pair := held

		renewAt, err := renew(authority{"cluster.ca", root.IssuingCA}, kubernetesLifetime, now, leaf{&pair, c.want})
		if err != nil {
			return current, now, err
		}

		due = earlier(due, renewAt)

		if pair.Equal(held) {
			continue
		}

		c.config.Crt, c.config.Key = pair.Crt, pair.Key

		text, err := kubeconfig.Render(c.config)
		if err != nil {
			return current, now, err
		}

		*c.text = string(text)
	}

	return next, due, nil
}

// heldPair returns the certificate of an existing kubeconfig, or none if anything else in the kubeconfig (server, authorities, names)
// has to change.
func heldPair(text string, want kubeconfig.Config) secrets.CertAndKey {
	held, err := kubeconfig.Parse([]byte(text))
	if err != nil {
		return secrets.CertAndKey{}
	}

	want.Crt, want.Key = held.Crt, held.Key

	again, err := kubeconfig.Render(want)
	if err != nil || string(again) != text {
		return secrets.CertAndKey{}
	}

	return secrets.CertAndKey{Crt: held.Crt, Key: held.Key}
}
