// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"

	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/pki"
)

// New makes a bundle.
func New() (*Bundle, error) {
	bundle := &Bundle{}

	if err := bundle.fill(); err != nil {
		return nil, fmt.Errorf("making a secrets bundle: %w", err)
	}

	return bundle, nil
}

// authorities tells how each authority is made.
func (b *Bundle) authorities() []struct {
	pair *v1alpha1.CertPair
	opts pki.CAOptions
} {
	return []struct {
		pair *v1alpha1.CertPair
		opts pki.CAOptions
	}{
		{&b.Certs.OS, pki.CAOptions{Kind: pki.Ed25519, Organization: []string{"talos"}}},
		{&b.Certs.Kubernetes, pki.CAOptions{Kind: pki.ECDSAP256, Organization: []string{"kubernetes"}}},
		{&b.Certs.Aggregator, pki.CAOptions{Kind: pki.ECDSAP256, CommonName: "front-proxy"}},
		{&b.Certs.Etcd, pki.CAOptions{Kind: pki.ECDSAP256, Organization: []string{"etcd"}}},
	}
}

// fill makes whatever the bundle lacks.
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

	set(&b.Cluster.ID, func() string { return randomBase64(base64.URLEncoding, 32) })
	set(&b.Cluster.Secret, func() string { return randomBase64(base64.StdEncoding, 32) })
	set(&b.Secrets.BootstrapToken, newToken)
	set(&b.Trustd.Token, newToken)

	if b.Secrets.AESCBCSecret == "" {
		set(&b.Secrets.SecretboxSecret, func() string { return randomBase64(base64.StdEncoding, 32) })
	}

	return nil
}

func set(field *string, make func() string) {
	if *field == "" {
		*field = make()
	}
}

// randomBase64 never fails: crypto/rand ends the program when the kernel has no randomness.
func randomBase64(encoding *base64.Encoding, size int) string {
	b := make([]byte, size)
	rand.Read(b)

	return encoding.EncodeToString(b)
}

// newToken makes a token of the shape that Kubernetes' bootstrap tokens have: id.secret, of 6 and 16
// characters.
func newToken() string { return randomWord(6) + "." + randomWord(16) }

func randomWord(length int) string {
	const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz"

	word := make([]byte, 0, length)

	for len(word) < length {
		var b [1]byte

		rand.Read(b[:])

		// 252 is the last multiple of 36 in a byte: beyond it some letters would be likelier.
		if b[0] < 252 {
			word = append(word, alphabet[b[0]%36])
		}
	}

	return string(word)
}
