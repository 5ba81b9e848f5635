// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"github.com/seed-59268b81/talos/config/documents/k8s"
	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/config/value"
)

// flannelPort is the UDP port of VXLAN.
const flannelPort = 4789

// controlPlaneDocuments returns the documents about Kubernetes that only control planes have.
func (in *input) controlPlaneDocuments() []any {
	admission := podSecurity()
	server := &k8s.KubeAPIServerConfig{
		Header: header[k8s.KubeAPIServerConfig](), Image: in.image(images.KubeAPIServer), APIPort: in.LocalAPIServerPort,
	}

	for _, san := range in.AdditionalSANs {
		server.CertExtraSANs = append(server.CertExtraSANs, value.SAN(san))
	}

	return []any{
		&k8s.KubeAggregatorCAConfig{Header: header[k8s.KubeAggregatorCAConfig](), IssuingCA: issuing(in.Secrets.Certs.Aggregator)},
		&k8s.KubeServiceAccountConfig{
			Header: header[k8s.KubeServiceAccountConfig](),
			Issuer: &k8s.ServiceAccountIssuer{PrivateKey: value.PrivateKey(in.Secrets.Certs.ServiceAccount.Key)},
		},
		&k8s.KubeEtcdEncryptionConfig{Header: header[k8s.KubeEtcdEncryptionConfig](), Config: in.etcdEncryption()},
		&k8s.KubeAdmissionControlConfig{
			Named: named[k8s.KubeAdmissionControlConfig](admission.Name), Configuration: admission.Configuration,
		},
		&k8s.KubeAuditPolicyConfig{Header: header[k8s.KubeAuditPolicyConfig](), Configuration: auditPolicy()},
		&k8s.KubeAuthenticationConfig{Header: header[k8s.KubeAuthenticationConfig](), Configuration: authentication()},
		&k8s.KubeAuthorizerConfig{Named: named[k8s.KubeAuthorizerConfig]("node"), Type: k8s.AuthorizerNode},
		&k8s.KubeAuthorizerConfig{Named: named[k8s.KubeAuthorizerConfig]("rbac"), Type: k8s.AuthorizerRBAC},
		server,
		&k8s.KubeControllerManagerConfig{Header: header[k8s.KubeControllerManagerConfig](), Image: in.image(images.KubeControllerManager)},
		&k8s.KubeSchedulerConfig{Header: header[k8s.KubeSchedulerConfig](), Image: in.image(images.KubeScheduler)},
		&k8s.KubeProxyConfig{Header: header[k8s.KubeProxyConfig](), Image: in.image(images.KubeProxy)},
		&k8s.KubeFlannelCNIConfig{
			Header: header[k8s.KubeFlannelCNIConfig](), BackendType: k8s.FlannelVXLAN, BackendPort: flannelPort,
		},
		&k8s.KubeCoreDNSConfig{Header: header[k8s.KubeCoreDNSConfig](), Enabled: new(true)},
	}
}

// etcdEncryption encrypts Secrets with the keys of the bundle. The name of a key is stored with each Secret that it encrypts, so these are
// the names that the v1alpha1 keys lead to.
func (in *input) etcdEncryption() v1alpha1.Object {
	var providers []any

	for _, provider := range []struct{ name, key, secret string }{
		{"secretbox", "key2", in.Secrets.Secrets.SecretboxSecret},
		{"aescbc", "key1", in.Secrets.Secrets.AESCBCSecret},
	} {
		if provider.secret != "" {
			providers = append(providers, map[string]any{provider.name: map[string]any{
				"keys": []any{map[string]any{"name": provider.key, "secret": provider.secret}},
			}})
		}
	}

	return v1alpha1.Object{
		"apiVersion": "apiserver.config.k8s.io/v1",
		"kind":       "EncryptionConfiguration",
		"resources": []any{map[string]any{
			"resources": []any{"secrets"},
			"providers": append(providers, map[string]any{"identity": map[string]any{}}),
		}},
	}
}

// authentication permits probes without a certificate, and nothing else.
func authentication() v1alpha1.Object {
	var conditions []any
	for _, path := range []string{"/livez", "/readyz", "/healthz"} {
		conditions = append(conditions, map[string]any{"path": path})
	}

	return v1alpha1.Object{
		"apiVersion": "apiserver.config.k8s.io/v1",
		"kind":       "AuthenticationConfiguration",
		"anonymous":  map[string]any{"enabled": true, "conditions": conditions},
	}
}
