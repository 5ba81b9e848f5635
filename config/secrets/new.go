// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/pki"
)

// New generates a bundle.
func New() (*Bundle, error) {
	bundle := &Bundle{}

	if err := bundle.fill(); err != nil {
		return nil, fmt.Errorf("generate secrets bundle: %w", err)
	}

	return bundle, nil
}

// authority is the place of an authority in the bundle, and its options.
type authority struct {
	pair *v1alpha1.CertPair
	opts pki.CAOptions
}

func (b *Bundle) authorities() []authority {
	return []authority{
		{&b.Certs.OS, pki.CAOptions{Kind: pki.Ed25519, Organization: []string{"talos"}}},
		{&b.Certs.Kubernetes, pki.CAOptions{Kind: pki.ECDSAP256, Organization: []string{"kubernetes"}}},
		{&b.Certs.Aggregator, pki.CAOptions{Kind: pki.ECDSAP256, CommonName: "front-proxy"}},
		{&b.Certs.Etcd, pki.CAOptions{Kind: pki.ECDSAP256, Organization: []string{"etcd"}}},
	}
}

// fill generates what the bundle lacks.
func (b *Bundle) fill() error {
	for _, a := range b.authorities() {
		if len(a.pair.Crt) != 0 {
			continue
		}

		ca, err := pki.NewCA(a.opts)
		if err != nil {
			return err
		}

		*a.pair = v1alpha1.CertPair{Crt: ca.PEM.Crt, Key: ca.PEM.Key}
	}

	if len(b.Certs.ServiceAccount.Key) == 0 {
		private, _, err := pki.NewKeyPair(pki.ServiceAccountKind)
		if err != nil {
			return err
		}

		b.Certs.ServiceAccount.Key = private
	}

	b.Cluster.ID = cmp.Or(b.Cluster.ID, randomBase64(base64.URLEncoding))
	b.Cluster.Secret = cmp.Or(b.Cluster.Secret, randomBase64(base64.StdEncoding))
	b.Secrets.BootstrapToken = cmp.Or(b.Secrets.BootstrapToken, newToken())
	b.Trustd.Token = cmp.Or(b.Trustd.Token, newToken())

	if b.Secrets.AESCBCSecret == "" {
		b.Secrets.SecretboxSecret = cmp.Or(b.Secrets.SecretboxSecret, randomBase64(base64.StdEncoding))
	}

	return nil
}

// randomBase64 returns 32 random bytes. It cannot fail: crypto/rand ends the program if the kernel has no randomness.
func randomBase64(encoding *base64.Encoding) string {
	var b [32]byte

	rand.Read(b[:])

	return encoding.EncodeToString(b[:])
}

// newToken returns a token in the form of Kubernetes' bootstrap tokens: id.secret, with 6 and 16 characters.
func newToken() string {
	text := strings.ToLower(rand.Text())

	return text[:6] + "." + text[6:22]
}
