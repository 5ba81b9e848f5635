// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// Bundle is the secret material of a cluster. Certificates and keys are PEM.
type Bundle struct {
	Cluster Cluster `yaml:"cluster"`
	Secrets Tokens  `yaml:"secrets"`
	Trustd  Trustd  `yaml:"trustdinfo"`
	Certs   Certs   `yaml:"certs"`
}

// Cluster is the identity of a cluster for discovery.
type Cluster struct {
	ID     string `yaml:"id"`
	Secret string `yaml:"secret"`
}

// Tokens are secrets of Kubernetes. Older clusters encrypt with AES-CBC, newer ones with secretbox.
type Tokens struct {
	BootstrapToken  string `yaml:"bootstraptoken"`
	AESCBCSecret    string `yaml:"aescbcencryptionsecret,omitempty"`
	SecretboxSecret string `yaml:"secretboxencryptionsecret,omitempty"`
}

// Trustd has the token with which a worker requests its certificate.
type Trustd struct {
	Token string `yaml:"token"`
}

// Certs are the authorities and the service account key.
type Certs struct {
	Etcd           v1alpha1.CertPair `yaml:"etcd"`
	Kubernetes     v1alpha1.CertPair `yaml:"k8s"`
	Aggregator     v1alpha1.CertPair `yaml:"k8saggregator"`
	ServiceAccount v1alpha1.KeyOnly  `yaml:"k8sserviceaccount"`
	OS             v1alpha1.CertPair `yaml:"os"`
}
