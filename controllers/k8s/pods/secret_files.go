// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/sys/folder"
)

// Secrets is what the control plane's keys are rendered from.
type Secrets struct {
	Root           secrets.KubernetesRootSpec
	EtcdRoot       secrets.EtcdRootSpec
	Kubeconfigs    secrets.KubernetesCertsSpec
	Dynamic        secrets.KubernetesDynamicCertsSpec
	Etcd           secrets.EtcdCertsSpec
	EtcdEncryption string
}

// SecretFolders returns the keys and certificates of the three components.
func SecretFolders(s Secrets) ([]folder.Folder, error) {
	tokenKey, err := pki.PublicKeyOf(s.Root.ServiceAccount.Key)
	if err != nil {
		return nil, fmt.Errorf("cluster.serviceAccount: %w", err)
	}

	for _, accepted := range s.Root.ServiceAccountAcceptedKeys {
		tokenKey = slices.Concat(bytes.TrimSpace(tokenKey), []byte("\n"), accepted.Key)
	}

	acceptedCAs := secrets.JoinCerts(s.Root.AcceptedCAs)

	// The controller manager refuses a file with more than one certificate.
	issuing, err := issuingCertificate(s.Root.IssuingCA)
	if err != nil {
		return nil, err
	}

	return []folder.Folder{
		{Path: SecretsDir(APIServer), UID: layout.UserAPIServer, Files: map[string]folder.File{
			"ca.crt":             folder.Public(acceptedCAs),
			KubeletCA:            folder.Public(acceptedCAs),
			"etcd-client-ca.crt": folder.Public(s.EtcdRoot.EtcdCA.Crt),
			"etcd-client.crt":    folder.Public(s.Etcd.EtcdAPIServer.Crt),
			"etcd-client.key":    folder.Private(s.Etcd.EtcdAPIServer.Key),
			// The authority with its bridges follows the leaf, for clients that trust only another authority of the cluster.
			"apiserver.crt":                folder.Public(slices.Concat(s.Dynamic.APIServer.Crt, s.Root.IssuingCA.Crt)),
			"apiserver.key":                folder.Private(s.Dynamic.APIServer.Key),
			"apiserver-kubelet-client.crt": folder.Public(s.Dynamic.APIServerKubeletClient.Crt),
			"apiserver-kubelet-client.key": folder.Private(s.Dynamic.APIServerKubeletClient.Key),
			"front-proxy-client.crt":       folder.Public(s.Dynamic.FrontProxy.Crt),
			"front-proxy-client.key":       folder.Private(s.Dynamic.FrontProxy.Key),
			"aggregator-ca.crt":            folder.Public(secrets.JoinCerts(s.Root.AcceptedAggregatorCAs)),
			"service-account.key":          folder.Private(s.Root.ServiceAccount.Key),
			"service-account.pub":          folder.Public(tokenKey),
			"encryptionconfig.yaml":        folder.Private([]byte(s.EtcdEncryption)),
		}},
		{Path: SecretsDir(ControllerManager), UID: layout.UserControllerManager, Files: map[string]folder.File{
			"ca.crt":              folder.Public(issuing),
			"ca.key":              folder.Private(s.Root.IssuingCA.Key),
			"accepted-ca.crt":     folder.Public(acceptedCAs),
			"aggregator-ca.crt":   folder.Public(secrets.JoinCerts(s.Root.AcceptedAggregatorCAs)),
			"service-account.key": folder.Private(s.Root.ServiceAccount.Key),
			"kubeconfig":          folder.Private([]byte(s.Kubeconfigs.ControllerManagerKubeconfig)),
		}},
		{Path: SecretsDir(Scheduler), UID: layout.UserScheduler, Files: map[string]folder.File{
			"kubeconfig": folder.Private([]byte(s.Kubeconfigs.SchedulerKubeconfig)),
		}},
	}, checkComplete(s)
}

// KubeletCA is the file of the authorities by which API servers verify kubelets. Its version is published under this id too.
const KubeletCA = "kubelet-ca.crt"

// reloaded are the files that a component reads again by itself when they change, so that it needs no new pod. A file that also has a use for
// which the component reads it once is not here: the controller manager's accepted-ca.crt is written to each namespace, and a kubeconfig has
// its certificate inside.
var reloaded = map[string][]string{
	APIServer: {
		// The packages k8s.io/apiserver/pkg/server/dynamiccertificates and k8s.io/client-go/transport (cert_rotation.go, and ca_rotation.go,
		// which checks the file every five minutes. Versions before 1.36 do not, see APIServerPod).
		"ca.crt", KubeletCA, "apiserver.crt", "apiserver.key", "aggregator-ca.crt", "front-proxy-client.crt", "front-proxy-client.key",
		"apiserver-kubelet-client.crt", "apiserver-kubelet-client.key",
		// TLSInfo of go.etcd.io/etcd/client/pkg/v3/transport reads the certificate for each handshake, and the authority once.
		"etcd-client.crt", "etcd-client.key",
	},
	ControllerManager: {
		// The package k8s.io/kubernetes/pkg/controller/certificates/signer (ca_provider.go) reads the authority that it signs with.
		"ca.crt", "ca.key", "aggregator-ca.crt",
	},
}

// SecretsVersion returns the version of the files that components read only at their start.
func SecretsVersion(folders []folder.Folder) string {
	once := make([]folder.Folder, 0, len(folders))

	for _, f := range folders {
		files := maps.Clone(f.Files)
		maps.DeleteFunc(files, func(name string, _ folder.File) bool { return slices.Contains(reloaded[path.Base(f.Path)], name) })
		once = append(once, folder.Folder{Path: f.Path, UID: f.UID, Files: files})
	}

	return folder.Digest(once)
}

// checkComplete returns an error when a key is missing: the component would start without it, and fail without naming the cause.
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

// issuingCertificate returns the first certificate of an authority. An authority that is not complete is reported later.
func issuingCertificate(ca secrets.CertAndKey) ([]byte, error) {
	if len(bytes.TrimSpace(ca.Crt)) == 0 {
		return nil, nil
	}

	cert, err := pki.ParseCertificate(ca.Crt)
	if err != nil {
		return nil, fmt.Errorf("cluster.ca: %w", err)
	}

	return pki.EncodeCertificate(cert), nil
}

// KubeletCAVersion returns the version of the authorities by which API servers verify kubelets.
func KubeletCAVersion(folders []folder.Folder) string {
	for _, f := range folders {
		if file, ok := f.Files[KubeletCA]; ok {
			return folder.Digest([]folder.Folder{{Path: f.Path, UID: f.UID, Files: map[string]folder.File{KubeletCA: file}}})
		}
	}

	return ""
}
