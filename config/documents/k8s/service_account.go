// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/url"
	"strings"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/value"
)

// KubeServiceAccountConfig has the keys of the tokens of service accounts.
type KubeServiceAccountConfig struct {
	document.Header `yaml:",inline"`
	// What new tokens are signed with.
	Issuer *ServiceAccountIssuer `yaml:"issuer,omitempty"`
	// What else is accepted.
	Accepted *ServiceAccountAccepted `yaml:"accepted,omitempty"`
}

// ServiceAccountIssuer signs tokens.
type ServiceAccountIssuer struct {
	// The private key, RSA or ECDSA, in PEM.
	PrivateKey value.PrivateKey `yaml:"privateKey" required:"true" maps:"cluster.serviceAccount.key"`
	// The URL that names the issuer in tokens, and the audience of tokens for the API server; that of the cluster without it.
	IssuerURL value.URL `yaml:"issuerURL,omitempty"`
}

// ServiceAccountAccepted is which tokens are accepted beside those of the issuer.
type ServiceAccountAccepted struct {
	// Public keys, RSA or ECDSA, in PEM.
	PublicKeys []value.PublicKey `yaml:"publicKeys,omitempty"`
	// Issuers. A token has the audience of the issuer that it had, so that one is needed too.
	Issuers []string `yaml:"issuers,omitempty"`
	// Audiences.
	Audiences []string `yaml:"audiences,omitempty"`
}

var serviceAccount = document.Of[KubeServiceAccountConfig]("KubeServiceAccountConfig", `apiVersion: v1alpha1
kind: KubeServiceAccountConfig
issuer:
    privateKey: |
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgr2uS/4XYQPm7it9S
        T4ctdG0MNH7kkEkWkOhbvvTPKx2hRANCAATaOA8xFGzu1x1KqAyzZWtLEtP+qHvs
        37qBWRQ4CX9Mnmr7y/xS6HBIdOtaGfCVLaPfIG5+yiaPfhGRFIaIwabn
        -----END PRIVATE KEY-----
accepted:
    publicKeys:
        - |
          -----BEGIN PUBLIC KEY-----
          MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE+1XuHId4NOYYb9pkWqEcS2Uigk5h
          A06+Xbl+cYGeJ6ZTbzF+rFuITqqYKB5YaG4XHeiMcghP9mfEDTH7Hgh0qw==
          -----END PUBLIC KEY-----
    issuers:
        - https://old.example.com:6443
    audiences:
        - https://old.example.com:6443
`, document.ControlPlane)

// Validate implements document.Validator. The API server does not start with a key that it cannot use.
func (c *KubeServiceAccountConfig) Validate(r *document.Report) {
	if c.Issuer != nil && c.Issuer.PrivateKey != "" {
		if problem := tokenKey([]byte(c.Issuer.PrivateKey)); problem != "" {
			r.Wrong("issuer.privateKey", "%s", problem)
		}
	}

	if c.Accepted == nil {
		return
	}

	for i, key := range c.Accepted.PublicKeys {
		if problem := tokenKey([]byte(key)); problem != "" {
			r.Wrong(fmt.Sprintf("accepted.publicKeys[%d]", i), "%s", problem)
		}
	}

	for i, issuer := range c.Accepted.Issuers {
		if _, err := url.Parse(issuer); issuer == "" || strings.Contains(issuer, ":") && err != nil {
			r.Wrong(fmt.Sprintf("accepted.issuers[%d]", i), "%q is not a URL", issuer)
		}
	}

	for i, audience := range c.Accepted.Audiences {
		if audience == "" || strings.Contains(audience, ",") {
			r.Wrong(fmt.Sprintf("accepted.audiences[%d]", i), "%q is empty, or has a comma", audience)
		}
	}
}

// tokenKey returns why Kubernetes cannot sign or verify tokens with a key.
func tokenKey(text []byte) string {
	block, _ := pem.Decode(text)
	if block == nil {
		return "is not PEM"
	}

	for _, parse := range []func([]byte) (any, error){
		x509.ParsePKCS8PrivateKey, x509.ParsePKIXPublicKey,
		func(der []byte) (any, error) { return x509.ParsePKCS1PrivateKey(der) },
		func(der []byte) (any, error) { return x509.ParseECPrivateKey(der) },
		func(der []byte) (any, error) { return x509.ParsePKCS1PublicKey(der) },
	} {
		key, err := parse(block.Bytes)
		if err != nil {
			continue
		}

		switch key.(type) {
		case *rsa.PrivateKey, *rsa.PublicKey, *ecdsa.PrivateKey, *ecdsa.PublicKey:
			return ""
		default:
			return fmt.Sprintf("is of type %T: Kubernetes signs tokens with RSA or ECDSA", key)
		}
	}

	return fmt.Sprintf("the %s in PEM cannot be read", block.Type)
}
