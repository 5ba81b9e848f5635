// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/documents/k8s"
	"github.com/seed-59268b81/talos/config/overlay"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// FromConfig extracts the bundle from a control plane configuration.
func FromConfig(cfg *config.Config) (*Bundle, error) {
	main, complete := overlay.Of(cfg)
	if !complete {
		return nil, errors.New("read secrets from configuration: no v1alpha1 document")
	}

	machine, cluster := &main.Machine, &main.Cluster

	if !machine.Type.IsControlPlane() {
		return nil, fmt.Errorf("read secrets from configuration: machine.type is %q: only a control plane configuration has all secrets", machine.Type)
	}

	bundle := &Bundle{
		Cluster: Cluster{ID: cluster.ID, Secret: cluster.Secret},
		Secrets: Tokens{
			BootstrapToken:  cluster.Token,
			AESCBCSecret:    cluster.AESCBCEncryptionSecret,
			SecretboxSecret: cluster.SecretboxSecret,
		},
		Trustd: Trustd{Token: machine.Token},
		Certs: Certs{
			Etcd:           cluster.Etcd.CA,
			Kubernetes:     cluster.CA,
			Aggregator:     cluster.AggregatorCA,
			ServiceAccount: cluster.ServiceAccount,
			OS:             machine.CA,
		},
	}

	if document := config.Find[*k8s.KubeEtcdEncryptionConfig](cfg); document != nil {
		bundle.Secrets.AESCBCSecret, bundle.Secrets.SecretboxSecret = key(document.Config, "aescbc"), key(document.Config, "secretbox")
	}

	if err := bundle.Check(); err != nil {
		return nil, fmt.Errorf("read secrets from configuration: %w", err)
	}

	return bundle, nil
}

// key returns the first key of a provider of an EncryptionConfiguration, the one that encrypts.
func key(encryption map[string]any, provider string) string {
	for _, resource := range list(encryption, "resources") {
		for _, p := range list(resource, "providers") {
			settings, _ := p[provider].(map[string]any)

			for _, k := range list(settings, "keys") {
				secret, _ := k["secret"].(string)

				return secret
			}
		}
	}

	return ""
}

// list returns the objects of a list in free-form configuration.
func list(in map[string]any, name string) (out []map[string]any) {
	elements, _ := in[name].([]any)

	for _, e := range elements {
		if object, ok := e.(map[string]any); ok {
			out = append(out, object)
		}
	}

	return out
}

// FromKubernetesPKI reads the authorities of a Kubernetes cluster from a directory with the layout of
// /etc/kubernetes/pki. It uses the bootstrap token if one is given, and generates the rest.
func FromKubernetesPKI(dir, bootstrapToken string) (*Bundle, error) {
	bundle := &Bundle{Secrets: Tokens{BootstrapToken: bootstrapToken}}

	var errs []error

	read := func(name string, into *v1alpha1.Base64) {
		text, err := os.ReadFile(filepath.Join(dir, name))
		errs = append(errs, err)
		*into = text
	}

	for name, pair := range map[string]*v1alpha1.CertPair{
		"ca":             &bundle.Certs.Kubernetes,
		"front-proxy-ca": &bundle.Certs.Aggregator,
		"etcd/ca":        &bundle.Certs.Etcd,
	} {
		read(name+".crt", &pair.Crt)
		read(name+".key", &pair.Key)
	}

	read("sa.key", &bundle.Certs.ServiceAccount.Key)

	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("read secrets from Kubernetes PKI: %w", err)
	}

	if err := bundle.fill(); err != nil {
		return nil, fmt.Errorf("read secrets from Kubernetes PKI: %w", err)
	}

	if err := bundle.Check(); err != nil {
		return nil, fmt.Errorf("read secrets from Kubernetes PKI in %s: %w", dir, err)
	}

	return bundle, nil
}
