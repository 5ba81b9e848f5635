// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// Secrets is everything that the control plane's keys are rendered from.
type Secrets struct {
	Root           secrets.KubernetesRootSpec
	EtcdRoot       secrets.EtcdRootSpec
	Kubeconfigs    secrets.KubernetesCertsSpec
	Dynamic        secrets.KubernetesDynamicCertsSpec
	Etcd           secrets.EtcdCertsSpec
	EtcdEncryption string
}

// SecretFolders are the keys and certificates of the three components.
func SecretFolders(s Secrets) ([]Folder, error) {
	tokenKey, err := pki.PublicKeyOf(s.Root.ServiceAccount.Key)
	if err != nil {
		return nil, fmt.Errorf("cluster.serviceAccount: %w", err)
	}

	for _, accepted := range s.Root.ServiceAccountAcceptedKeys {
		tokenKey = append(tokenKey, accepted.Key...)
	}

	acceptedCAs := secrets.JoinCerts(s.Root.AcceptedCAs)

	return []Folder{
		{Path: SecretsDir(APIServer), UID: APIServerUID, Files: map[string]File{
			"ca.crt":             public(acceptedCAs),
			"etcd-client-ca.crt": public(s.EtcdRoot.EtcdCA.Crt),
			"etcd-client.crt":    public(s.Etcd.EtcdAPIServer.Crt),
			"etcd-client.key":    private(s.Etcd.EtcdAPIServer.Key),
			// The authority follows the leaf, for clients that know only another one of the cluster's.
			"apiserver.crt":                public(slices.Concat(s.Dynamic.APIServer.Crt, s.Root.IssuingCA.Crt)),
			"apiserver.key":                private(s.Dynamic.APIServer.Key),
			"apiserver-kubelet-client.crt": public(s.Dynamic.APIServerKubeletClient.Crt),
			"apiserver-kubelet-client.key": private(s.Dynamic.APIServerKubeletClient.Key),
			"front-proxy-client.crt":       public(s.Dynamic.FrontProxy.Crt),
			"front-proxy-client.key":       private(s.Dynamic.FrontProxy.Key),
			"aggregator-ca.crt":            public(secrets.JoinCerts(s.Root.AcceptedAggregatorCAs)),
			"service-account.key":          private(s.Root.ServiceAccount.Key),
			"service-account.pub":          public(tokenKey),
			"encryptionconfig.yaml":        privateText(s.EtcdEncryption),
		}},
		{Path: SecretsDir(ControllerManager), UID: ControllerManagerUID, Files: map[string]File{
			"ca.crt":              public(s.Root.IssuingCA.Crt),
			"ca.key":              private(s.Root.IssuingCA.Key),
			"accepted-ca.crt":     public(acceptedCAs),
			"service-account.key": private(s.Root.ServiceAccount.Key),
			"kubeconfig":          privateText(s.Kubeconfigs.ControllerManagerKubeconfig),
		}},
		{Path: SecretsDir(Scheduler), UID: SchedulerUID, Files: map[string]File{
			"kubeconfig": privateText(s.Kubeconfigs.SchedulerKubeconfig),
		}},
	}, checkComplete(s)
}

// checkComplete refuses to render half of the keys: a component that starts without one fails in a way that does not
// name the cause.
func checkComplete(s Secrets) error {
	for name, pair := range map[string]secrets.CertAndKey{
		"cluster.ca": s.Root.IssuingCA, "cluster.aggregatorCA": s.Root.AggregatorCA,
		"API server certificate": s.Dynamic.APIServer, "etcd client certificate": s.Etcd.EtcdAPIServer,
	} {
		if len(bytes.TrimSpace(pair.Crt)) == 0 || len(bytes.TrimSpace(pair.Key)) == 0 {
			return fmt.Errorf("control plane secrets: %s: certificate or key is missing", name)
		}
	}

	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
