// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"slices"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/config/value"
)

// KubeAPIServerCAConfig has the authority of the cluster. Workers have only the certificates that they accept.
type KubeAPIServerCAConfig struct {
	document.Header `yaml:",inline"`
	// The certificate and key that new certificates are signed with.
	IssuingCA *value.CertificateAndKey `yaml:"issuingCA,omitempty" like:"cluster.ca"`
	// More certificates of authorities that are accepted, in PEM.
	AcceptedCAs []value.Certificates `yaml:"acceptedCAs,omitempty" like:"cluster.acceptedCAs"`
}

var apiServerCA = document.Of[KubeAPIServerCAConfig]("KubeAPIServerCAConfig", `apiVersion: v1alpha1
kind: KubeAPIServerCAConfig
acceptedCAs:
    - |
      -----BEGIN CERTIFICATE-----
      MIIBOjCB7aADAgECAhR2CdVVo78dHsXtv+5n+8WvdmRV2zAFBgMrZXAwEjEQMA4G
      A1UECgwHZXhhbXBsZTAgFw0yNjExMjMwMzU5NDVaGA8yMTI2MTAzMDAzNTk0NVow
      EjEQMA4GA1UECgwHZXhhbXBsZTAqMAUGAytlcAMhAO4cs5oKotE+xccTd7ZFqVyg
      xOv+ArIDq69DO8D+tf0Oo1MwUTAdBgNVHQ4EFgQUVCkvZZo72WIBx2S9h+TiHeSs
      Rm4wHwYDVR0jBBgwFoAUVCkvZZo72WIBx2S9h+TiHeSsRm4wDwYDVR0TAQH/BAUw
      AwEB/zAFBgMrZXADQQBIMXcYPdLdHX0xu0fN6KWX4vEsWordQi0CqJgo8ACxWYEP
      bUGzx2NYWcLa7jDcQs4FxdQ973oja4ImzUnPdFMN
      -----END CERTIFICATE-----
`)

// KubeAggregatorCAConfig has the authority by which the API server knows itself to its extensions.
type KubeAggregatorCAConfig struct {
	document.Header `yaml:",inline"`
	// The certificate and key that new certificates are signed with.
	IssuingCA *value.CertificateAndKey `yaml:"issuingCA,omitempty" like:"cluster.aggregatorCA"`
	// More certificates of authorities of API servers that extensions accept, in PEM.
	AcceptedCAs []value.Certificates `yaml:"acceptedCAs,omitempty"`
}

var aggregatorCA = document.Of[KubeAggregatorCAConfig]("KubeAggregatorCAConfig", `apiVersion: v1alpha1
kind: KubeAggregatorCAConfig
issuingCA:
    cert: |
        -----BEGIN CERTIFICATE-----
        MIIBOjCB7aADAgECAhR2CdVVo78dHsXtv+5n+8WvdmRV2zAFBgMrZXAwEjEQMA4G
        A1UECgwHZXhhbXBsZTAgFw0yNjExMjMwMzU5NDVaGA8yMTI2MTAzMDAzNTk0NVow
        EjEQMA4GA1UECgwHZXhhbXBsZTAqMAUGAytlcAMhAO4cs5oKotE+xccTd7ZFqVyg
        xOv+ArIDq69DO8D+tf0Oo1MwUTAdBgNVHQ4EFgQUVCkvZZo72WIBx2S9h+TiHeSs
        Rm4wHwYDVR0jBBgwFoAUVCkvZZo72WIBx2S9h+TiHeSsRm4wDwYDVR0TAQH/BAUw
        AwEB/zAFBgMrZXADQQBIMXcYPdLdHX0xu0fN6KWX4vEsWordQi0CqJgo8ACxWYEP
        bUGzx2NYWcLa7jDcQs4FxdQ973oja4ImzUnPdFMN
        -----END CERTIFICATE-----
    key: |
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEIHhqXtcF1uYZNjVhizLtNcf7fIKeJcOEWCxg4AKAestp
        -----END PRIVATE KEY-----
`, document.ControlPlane)

// Overlay implements overlay.Overlayer.
func (c *KubeAPIServerCAConfig) Overlay(main *v1alpha1.Config) {
	if c.IssuingCA != nil {
		main.Cluster.CA = pair(c.IssuingCA)
	}

	accepted := c.AcceptedCAs

	// Workers have no issuing authority. The one that they know the API server by is the first.
	if len(main.Cluster.CA.Crt) == 0 && len(accepted) > 0 {
		main.Cluster.CA, accepted = v1alpha1.CertPair{Crt: v1alpha1.Base64(accepted[0])}, accepted[1:]
	}

	for _, certs := range accepted {
		main.Cluster.AcceptedCAs = append(slices.Clip(main.Cluster.AcceptedCAs), v1alpha1.Cert{Crt: v1alpha1.Base64(certs)})
	}
}

// Overlay implements overlay.Overlayer.
func (c *KubeAggregatorCAConfig) Overlay(main *v1alpha1.Config) {
	if c.IssuingCA != nil {
		main.Cluster.AggregatorCA = pair(c.IssuingCA)
	}
}

func pair(ca *value.CertificateAndKey) v1alpha1.CertPair {
	return v1alpha1.CertPair{Crt: v1alpha1.Base64(ca.Cert), Key: v1alpha1.Base64(ca.Key)}
}
